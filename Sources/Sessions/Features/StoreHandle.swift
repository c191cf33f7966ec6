import MVI
import SessionJournal
import WireJSON

/// What a store is made with.
@usableFromInline
struct StoreSeed: Sendable {
    @usableFromInline let environment: StoreEnvironment
    @usableFromInline let middleware: [any CommonMiddleware]
    /// The store as it was kept; nil for a new one.
    @usableFromInline let stored: StoredStore?
    /// Commits encoded turns to the session.
    @usableFromInline let commit: EncodingCommit
    @usableFromInline let stateLimit: Int
    /// Bytes of labels that a session keeps: a turn with more could never be delivered whole.
    @usableFromInline let outboxLimit: Int
}

@usableFromInline
typealias EncodingCommit =
    @Sendable (EncodedBatch, _ done: @escaping @Sendable (SessionCommit) -> Void) -> SessionCommit?

/// Turns of one store as the journal and the streams take them: bytes.
@usableFromInline
struct EncodedBatch: Sendable {
    /// In order.
    @usableFromInline var turns: [EncodedTurn]
    /// The state after the last of them, as it is kept; nil when none changed it.
    @usableFromInline var state: [UInt8]?
    /// The schema version of `state`.
    @usableFromInline var schemaVersion: Int

    @inlinable
    init(turns: [EncodedTurn], state: [UInt8]?, schemaVersion: Int) {
        self.turns = turns
        self.state = state
        self.schemaVersion = schemaVersion
    }

    /// Whether nobody could tell that the turns ever were.
    var isEmpty: Bool { state == nil && turns.allSatisfy { $0.isEmpty } }
}

/// A turn as bytes.
@usableFromInline
struct EncodedTurn: Sendable {
    /// The intent that led to it.
    @usableFromInline let intentID: IntentID
    /// The new view state as JSON; nil when it did not change.
    @usableFromInline let view: [UInt8]?
    /// The labels, in order.
    @usableFromInline let labels: [EncodedLabel]
    /// What happened in it; nil unless that is recorded.
    @usableFromInline let recording: [UInt8]?
    @usableFromInline let reply: PendingReply?

    @inlinable
    init(intentID: IntentID, view: [UInt8]?, labels: [EncodedLabel], recording: [UInt8]?, reply: PendingReply?) {
        self.intentID = intentID
        self.view = view
        self.labels = labels
        self.recording = recording
        self.reply = reply
    }

    /// The intent, as clients are told of it; nil if the store itself was the cause.
    var shownIntent: IntentID? { intentID == .bootstrap ? nil : intentID }

    var isEmpty: Bool { view == nil && labels.isEmpty && recording == nil && reply?.receipt == nil }
}

/// A label as bytes.
@usableFromInline
struct EncodedLabel: Sendable {
    /// The label as JSON.
    @usableFromInline let json: [UInt8]
    /// How long it waits for a client.
    @usableFromInline let timeToLive: Duration

    @inlinable
    init(json: [UInt8], timeToLive: Duration) {
        self.json = json
        self.timeToLive = timeToLive
    }
}

/// A store without its types: closures made where the feature's type is known, which costs one indirect call and no
/// existential on the way of an intent. All that leads here is `@inlinable`, so that it is known in the module of the
/// feature's author, too.
@usableFromInline
final class StoreHandle: Sendable {
    /// An intent that was understood, ready to be accepted.
    @usableFromInline
    typealias Accept =
        @Sendable (
            _ id: IntentID, _ precondition: IntentPrecondition?, _ reply: PendingReply?,
            _ completion: @escaping @Sendable (Result<IntentOutcome, IntentRejection>) -> Void
        ) -> Void

    @usableFromInline let initialView: [UInt8]
    /// The state that the store begins with as it is kept; nil if the journal has it.
    @usableFromInline let unwrittenState: [UInt8]?
    /// Why the state that was kept could not be read; nil if it could, or none was.
    @usableFromInline let setsAside: String?
    @usableFromInline let decode: @Sendable (_ body: [UInt8]) -> Result<Accept, WireDecodingError>
    @usableFromInline let start: @Sendable () -> Void
    /// Ends a store that is idle, if it is.
    @usableFromInline let passivate: @Sendable () -> Bool
    @usableFromInline let dispose: @Sendable () -> Void
    @usableFromInline let whenSettled: @Sendable (IntentID, UInt64, @escaping @Sendable () -> Void) -> Bool
    @usableFromInline let stopWaiting: @Sendable (IntentID, UInt64) -> Void
    @usableFromInline let beginWatching: @Sendable () -> Void
    @usableFromInline let endWatching: @Sendable () -> Void
    @usableFromInline let diagnostics: @Sendable () -> StoreDiagnostics

    @inlinable
    init<F: Feature>(_ feature: F, seed: StoreSeed) throws {
        let initialState = feature.initialState
        var state: F.State?
        var setsAside: String?
        if let stored = seed.stored {
            do {
                state = try StoredState.read(stored, of: F.self, initial: initialState)
            } catch {
                setsAside = "\(error)"
            }
        }
        let log = EncodingLog<F>(
            feature: feature, stateLimit: seed.stateLimit, outboxLimit: seed.outboxLimit,
            isRecording: seed.environment.isRecording, commit: seed.commit)
        let store = Store(
            feature, state: state, environment: seed.environment, middleware: seed.middleware, log: log)
        initialView = try WireJSON.encode(store.view)
        self.setsAside = setsAside
        // A view that another version of the code made of the same state is another view.
        let isKept = state != nil && initialView == seed.stored?.view && seed.stored?.schemaVersion == F.schemaVersion
        unwrittenState = isKept ? nil : try StoredState.write(state ?? initialState)
        decode = { body in
            do throws(WireDecodingError) {
                let intent = try WireJSON.decode(F.Intent.self, from: body)
                return .success { id, precondition, reply, completion in
                    store.accept(
                        intent, id: id, precondition: precondition, attachment: reply, completion: completion)
                }
            } catch {
                return .failure(error)
            }
        }
        start = { store.start() }
        passivate = { store.passivate() }
        dispose = { store.dispose() }
        whenSettled = { store.whenSettled($0, id: $1, $2) }
        stopWaiting = { store.stopWaiting(for: $0, id: $1) }
        beginWatching = { store.beginWatching() }
        endWatching = { store.endWatching() }
        diagnostics = { store.diagnostics }
    }
}
