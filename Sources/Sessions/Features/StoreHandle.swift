import MVI
import WireJSON

/// What a store is made with.
struct StoreSeed: Sendable {
    let environment: StoreEnvironment
    let middleware: [any CommonMiddleware]
    /// Commits encoded turns to the session.
    let commit: @Sendable ([EncodedTurn], _ done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult?
    let stateLimit: Int
    /// Bytes of labels that a session keeps: a turn with more could never be delivered whole.
    let outboxLimit: Int
}

/// A turn as the journal and the streams take it: bytes.
public struct EncodedTurn: Sendable {
    /// The intent that led to it.
    public let intentID: IntentID
    /// The new view state as JSON; nil when it did not change.
    public let view: [UInt8]?
    /// The labels, in order.
    public let labels: [EncodedLabel]
    let reply: PendingReply?
}

/// A label as bytes.
public struct EncodedLabel: Sendable {
    /// The label as JSON.
    public let json: [UInt8]
    /// How long it waits for a client.
    public let timeToLive: Duration
}

/// A store without its types: closures made where the feature's type is known, which costs one indirect call and no
/// existential on the way of an intent.
struct StoreHandle: Sendable {
    /// An intent that was understood, ready to be accepted.
    typealias Accept =
        @Sendable (
            _ id: IntentID, _ precondition: IntentPrecondition?, _ reply: PendingReply?,
            _ completion: @escaping @Sendable (Result<IntentOutcome, IntentRejection>) -> Void
        ) -> Void

    let initialView: [UInt8]
    let decode: @Sendable (_ body: [UInt8]) -> Result<Accept, WireDecodingError>
    let start: @Sendable () -> Void
    let dispose: @Sendable () -> Void
    let whenSettled: @Sendable (IntentID, UInt64, @escaping @Sendable () -> Void) -> Bool
    let stopWaiting: @Sendable (IntentID, UInt64) -> Void
    let beginWatching: @Sendable () -> Void
    let endWatching: @Sendable () -> Void
    let diagnostics: @Sendable () -> StoreDiagnostics

    init<F: Feature>(_ feature: F, seed: StoreSeed) throws {
        let log = EncodingLog<F>(
            feature: feature, stateLimit: seed.stateLimit, outboxLimit: seed.outboxLimit, commit: seed.commit)
        let store = Store(
            feature, environment: seed.environment, middleware: seed.middleware, log: log)
        initialView = try WireJSON.encode(store.view)
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
        dispose = { store.dispose() }
        whenSettled = { store.whenSettled($0, id: $1, $2) }
        stopWaiting = { store.stopWaiting(for: $0, id: $1) }
        beginWatching = { store.beginWatching() }
        endWatching = { store.endWatching() }
        diagnostics = { store.diagnostics }
    }
}

/// Turns a store's turns into bytes, once each, and hands them to its session.
private struct EncodingLog<F: Feature>: TurnLog {
    let feature: F
    let stateLimit: Int
    let outboxLimit: Int
    let commit: @Sendable ([EncodedTurn], _ done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult?

    func commit(
        _ turns: [TurnRecord<F>], done: @escaping @Sendable (CommitResult<F>) -> Void
    ) -> CommitResult<F>? {
        var encoded: [EncodedTurn] = []
        encoded.reserveCapacity(turns.count)
        for turn in turns {
            do throws(WireEncodingError) {
                var view: [UInt8]?
                if turn.viewChanged {
                    let bytes = try WireJSON.encode(turn.view)
                    guard bytes.count <= stateLimit else {
                        return .failed(
                            CommitFailure(
                                .tooLarge,
                                "The view state would take \(bytes.count) bytes; at most \(stateLimit) are kept."))
                    }
                    view = bytes
                }
                var labels: [EncodedLabel] = []
                var labelBytes = 0
                for label in turn.labels {
                    let json = try WireJSON.encode(label)
                    labelBytes += json.count + Outbox.overhead
                    labels.append(EncodedLabel(json: json, timeToLive: feature.timeToLive(of: label)))
                }
                guard labelBytes <= outboxLimit else {
                    return .failed(
                        CommitFailure(
                            .tooLarge,
                            "The turn's labels would take \(labelBytes) bytes; at most \(outboxLimit) are kept."))
                }
                encoded.append(
                    EncodedTurn(
                        intentID: turn.intentID, view: view, labels: labels,
                        reply: turn.attachment as? PendingReply))
            } catch {
                return .failed(CommitFailure(.invalid, "The turn's outcome cannot be written as JSON: \(error)"))
            }
        }
        return commit(encoded) { done($0.commitResult(of: F.self)) }?.commitResult(of: F.self)
    }
}
