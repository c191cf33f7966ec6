import Locking
import MVI
import SessionJournal

/// A message on its way to one receiver.
package struct ToldMessage: Sendable {
    /// The feature instance of the receiver.
    package let feature: FeatureID
    /// The action as JSON.
    package let action: [UInt8]
    /// Its name in its receiver's journal.
    package let heard: HeardMessage
    package let origin: MessageOrigin
    /// True if it is not tried again after a throw.
    package let isLastTry: Bool
    let receiver: Receiver

    package init(
        to feature: FeatureID, action: [UInt8], heard: HeardMessage, origin: MessageOrigin, isLastTry: Bool,
        receiver: Receiver = .shared
    ) {
        (self.feature, self.action, self.heard, self.origin) = (feature, action, heard, origin)
        (self.isLastTry, self.receiver) = (isLastTry, receiver)
    }

    /// - Parameter session: the id of its teller's session.
    init(_ message: Message, from session: String, isLastTry: Bool) {
        self.init(
            to: message.feature, action: message.action, heard: message.heard(from: session),
            origin: MessageOrigin(session: session, number: message.number, hops: message.hops), isLastTry: isLastTry,
            receiver: message.receiver)
    }
}

/// Delivers messages to their receivers. Returns `ran` or `replayed` if all of them have run it; `unavailable` if one did not
/// and may do so later.
typealias MessagePost = @Sendable (ToldMessage) async -> TurnOutcome

/// Runs a told message in its receiver. The turn's commit notes the message: a second one of its name does not run.
final class MessageJob: QueueJob {
    private let session: Session
    private let message: ToldMessage
    private let inputs: TurnInputs?
    /// Called once.
    private let completion: @Sendable (TurnOutcome) -> Void

    init(
        _ session: Session, _ message: ToldMessage, inputs: TurnInputs? = nil,
        completion: @escaping @Sendable (TurnOutcome) -> Void
    ) {
        (self.session, self.message, self.inputs, self.completion) = (session, message, inputs, completion)
    }

    var lane: JobLane { .server }

    func run() -> WaitingJob? {
        guard session.mayRun else { return end(as: .elsewhere(.elsewhere)) }
        let (limits, lives, feature) = (session.shared.limits, session.lives, message.feature)
        guard session.shared.features.definition(for: feature, in: session.space) != nil else {
            return end(as: .unavailable(.featureNotFound))
        }
        let (isKnown, found) = session.core.withLock { core in
            core.batch.isAnswer = true
            return (core.hasHeard(message.heard), core.find(feature, limits: limits, lives))
        }
        if isKnown { return end(as: .replayed) }
        switch found {
        case .store(let store, _, let effects): return run(on: store, after: effects)
        case .passive(nil): return WaitingJob(self, in: session, for: [feature])
        case .passive(let error?): return end(as: .unavailable(error))
        case .absent(let refusal?, _): return end(as: .unavailable(refusal))
        case .absent(nil, _):
            do throws(StoreError) {
                switch try session.make(feature, for: nil) {
                case .started(let store): return run(on: store, after: nil)
                case .waits(let needs): return WaitingJob(self, in: session, for: needs)
                }
            } catch {
                guard error.failure == nil else { return end(as: .unavailable(error)) }
                return end(as: .refused(StoreError(.gone, error.detail)))
            }
        }
    }

    private func run(on store: SessionStore, after effects: [Effect]?) -> WaitingJob? {
        let turn: RunTurn
        do { turn = try store.definition.action(message.action) } catch {
            // Another build may know the action.
            return end(as: .unavailable(StoreError(.newerState, "\(error)")))
        }
        return session.run(
            TurnCall(
                job: self, store: store,
                context: TurnContext(message.intentID, store, inputs: inputs, message: message.origin),
                run: turn, kind: .message(message)),
            after: effects)
    }

    private func end(as outcome: TurnOutcome) -> WaitingJob? {
        session.core.withLock { $0.joinOther(self, outcome, isKept: false) }
        return nil
    }

    func retry(_ inputs: TurnInputs?, _ judged: RunTurn?, onKept: Bool) -> any QueueJob {
        MessageJob(session, message, inputs: inputs ?? self.inputs, completion: completion)
    }

    func finished(_ result: JobResult, isSettled: Bool) { completion(result.outcome) }

    func end(_ error: StoreError) { completion(.unavailable(error)) }
}

extension ToldMessage {
    /// Clients see it: it does not tell the teller's session. Not ASCII, so that it differs from every key of a client.
    fileprivate var intentID: IntentID {
        let log = heard.sender.prefix(4).reduce("") { $0 + String($1, radix: 16) }
        return IntentID("‹message \(log).\(heard.number)›")
    }
}

extension SessionCore {
    /// True if the message ran before, also in this batch.
    fileprivate func hasHeard(_ message: HeardMessage) -> Bool {
        rare?.heard.has(message) == true
            || batch.heard.contains { $0.sender == message.sender && $0.number >= message.number }
    }
}
