/// The inputs of a turn and the requests that it made, in addition to its events.
public struct TurnFacts: Sendable, Equatable {
    /// The reason why a turn ran.
    public enum Kind: String, Codable, Sendable {
        /// The store started.
        case bootstrap
        /// A caller signed in.
        case signIn
        /// An intent.
        case intent
        /// An intent that its check replaced with an action, or that an interceptor or its check refused.
        case checked
        /// An action from a reminder, from another store or from outside the features.
        case action
        /// Launched work.
        case step
        /// `onFailure`.
        case failure
    }

    /// A store that a turn read.
    public struct Read: Codable, Sendable, Equatable {
        /// The feature instance, such as `counter` or `order-detail:42`.
        public let feature: String
        /// The number of its last turn, including earlier ones of the same commit; 0 if another turn sent the intent that
        /// read it.
        public let number: UInt64

        /// Creates a read.
        public init(feature: String, number: UInt64) { (self.feature, self.number) = (feature, number) }
    }

    /// The addressee of a label that is not for everyone.
    public struct Directed: Codable, Sendable, Equatable {
        /// The index of the label in the turn.
        public let label: Int
        /// `audience`, `sender`, `subject` or `session`.
        public let to: String
        /// The audience, or the id of the subject or session. Nil for the sender, and in exports without personal data.
        public let name: String?

        /// Creates an addressee.
        public init(label: Int, to: String, name: String?) { (self.label, self.to, self.name) = (label, to, name) }

        @usableFromInline
        init<Audience>(_ label: Int, _ addressee: Addressee<Audience>) {
            self.label = label
            switch addressee.kind {
            case .everyone: (to, name) = ("everyone", nil)
            case .audience(let audience): (to, name) = ("audience", "\(audience)")
            case .sender: (to, name) = ("sender", nil)
            case .subject(let subject): (to, name) = ("subject", "\(subject)")
            case .session(let id): (to, name) = ("session", id)
            }
        }
    }

    /// The reason why the turn ran.
    public var kind: Kind?
    /// The schema version of the feature.
    public var schemaVersion: Int?
    /// The subject of the intent's sender; nil if anonymous.
    public var subject: Subject?
    /// The client that sent the intent to a shared store.
    public var sender: Sender?
    /// The locale and the time zone of the intent's client; nil if it has set none.
    public var locale: String?
    public var timeZone: String?
    /// The wall-clock time that the turn read; nil if it read none.
    public var now: Timestamp?
    /// The UUIDs that the turn used, in order.
    public var uuids: [String] = []
    /// The clients that looked at the store, as the events of streams tell them in JSON; nil if the turn did not ask.
    public var viewers: String?
    /// The other stores that the turn read, in order.
    public var reads: [Read] = []
    /// The feature instances that the turn sent intents or actions to, in order.
    public var sends: [String] = []
    /// The addressees of labels that are not for everyone, in order.
    public var directed: [Directed] = []
    /// The feature instances of the messages that the turn told other logs, in order.
    public var tells: [String] = []
    /// The session, or the space, whose turn told the message that the turn ran for, by its id.
    public var toldBy: String?
    /// The ids of the work that the turn launched or registered, in order. Work without an id is `""`.
    public var launched: [String] = []
    /// The number of the turn that launched the work of this step or failure, if that turn was recorded; that set the
    /// reminder; or, in the log ``toldBy``, that told the message. Nil for other turns.
    public var by: UInt64?
    /// The duration of the turn.
    public var microseconds: UInt64?
    /// The description of the error that a turn of `onFailure` was called for.
    public var failure: String?
    /// The refusal of the intent, with its code if it has one: `expired: The coupon has expired.` Nothing else was kept.
    public var refusal: String?

    /// Creates the facts of a turn that has none.
    public init() {}

    @inlinable
    init<F: Feature>(_ turn: borrowing Turn<F>) {
        schemaVersion = F.schemaVersion
        subject = turn.principal.map { Subject(issuer: $0.issuer, id: $0.subject) }
        sender = turn.sender
        (locale, timeZone) = (turn.client.locale, turn.client.timeZone)
        if !turn.effects.isEmpty { launched = turn.effects.compactMap { $0.request.map { $0.id?.description ?? "" } } }
        let message = turn.context.message
        (toldBy, by) = (message?.session, turn.origin?.turn ?? turn.context.by ?? message?.number)
        guard let rare = turn.rare else { return }
        kind = rare.failure == nil ? rare.kind : .failure
        (now, viewers) = (rare.now, rare.viewers?.json)
        if rare.uuidCount > 0 { uuids = Array(rare.uuids.prefix(rare.uuidCount)) }
        (reads, failure, refusal) = (rare.reads, rare.failure, rare.refusal)
        if !rare.addressees.isEmpty { directed = rare.addressees.map { Directed($0.label, $0.to) } }
        tells = rare.reminders.compactMap { if case .tell(let message) = $0 { message.instance } else { nil } }
        if !rare.sends.isEmpty { sends = rare.sends.map(\.instance) }
        microseconds = rare.start.map { (monotonicNanoseconds() &- $0) / 1_000 }
    }
}
