/// Something that happened in a store, as observers are told it after the commit: once each, in causal order.
public struct Observation<F: Feature>: Sendable {
    /// What happened.
    public enum Event: Sendable {
        /// The store started.
        case started(Life)
        /// An intent was executed (as interceptors left it).
        case intent(F.Intent)
        /// An interceptor refused an intent.
        case refused(F.Intent, Refusal)
        /// An action was performed.
        case action(F.Action)
        /// A message was reduced.
        case message(F.Message, before: F.State, after: F.State)
        /// A label was published.
        case label(F.Label)
        /// Something threw; what its turn did is undone.
        case failed(Failure)
        /// The store was disposed.
        case ended
    }

    /// What happened.
    public let event: Event
    /// The intent that led to it.
    public let intentID: IntentID
    /// The feature instance, such as `counter` or `order-detail:42`.
    public let instance: String
}
