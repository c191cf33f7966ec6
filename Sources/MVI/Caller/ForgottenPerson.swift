/// A person whose data is deleted from a store that many people share; see ``Feature/forgetting(_:)``.
public struct ForgottenPerson: Hashable, Sendable {
    /// The signed-in user.
    public let subject: Subject
    /// The names of the person's clients in this space; see ``Sender/id``.
    public let senders: Set<String>

    /// Creates a person.
    public init(subject: Subject, senders: Set<String> = []) {
        (self.subject, self.senders) = (subject, senders)
    }
}
