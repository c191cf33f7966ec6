import Locking
import MVI

/// What a store under test did and the test has not asserted yet. It has each turn, in order, as soon as that is
/// committed.
final class Inbox<F: Feature>: Sendable {
    struct Reduced: Sendable {
        let message: F.Message
        let before: F.State
        let after: F.State
        /// Which of the store's turns it is of.
        let turn: Int
    }

    /// An intent or an action that a turn sent to another store.
    struct Sent: Sendable {
        let value: any Sendable
        let instance: String

        var text: String { "\(describe(value)) to \(instance)" }
    }

    private struct State {
        var turns = 0
        var messages: [Reduced] = []
        /// The turns that intents of the test began with.
        var intents: [IntentID: Int] = [:]
        var actions: [F.Action] = []
        var labels: [F.Label] = []
        var failures: [Failure] = []
        var sent: [Sent] = []
        /// What no test can mean: kept states that could not be read.
        var faults: [String] = []
    }

    let instance: String
    private let state = Lock(State())
    private let signal: Signal

    /// Tells `signal` of everything that comes.
    init(instance: String, signal: Signal) { (self.instance, self.signal) = (instance, signal) }

    var messages: [Reduced] { state.withLock { $0.messages } }
    var actions: [F.Action] { state.withLock { $0.actions } }
    var labels: [F.Label] { state.withLock { $0.labels } }
    var failures: [Failure] { state.withLock { $0.failures } }
    var sent: [Sent] { state.withLock { $0.sent } }

    // MARK: What comes

    /// A turn of the store under test is over.
    func note(_ events: [StoreObservation<F>.Event], _ intentID: IntentID) {
        state.withLock { state in
            state.turns += 1
            for event in events {
                switch event {
                case .intent: if state.intents[intentID] == nil { state.intents[intentID] = state.turns }
                case .message(let message, let before, let after):
                    state.messages.append(Reduced(message: message, before: before, after: after, turn: state.turns))
                case .action(let action): state.actions.append(action)
                case .label(let label): state.labels.append(label)
                case .started, .refused, .failed, .ended: break
                }
            }
        }
        signal.send()
    }

    /// A turn that another store's turn led to is over.
    func note<Other: Feature>(sent events: [StoreObservation<Other>.Event], _ instance: String) {
        // It threw: its chain is undone.
        if case .failed? = events.last { return }
        let value: any Sendable
        switch events.first {
        case .intent(let intent): value = intent
        case .action(let action): value = action
        default: return
        }
        state.withLock { $0.sent.append(Sent(value: value, instance: instance)) }
        signal.send()
    }

    func note(_ report: StoreReport) {
        switch report {
        case .failure(let failure, _): state.withLock { $0.failures.append(failure) }
        case .stateSetAside(let reason, let place):
            let text = "The kept state of \(place.instance) could not be read, so the store began anew: \(reason)"
            state.withLock { $0.faults.append(text) }
        case .membersUnread(let members, let instance):
            let list = members.joined(separator: ", ")
            let text = "The kept state of \(instance) has members that its feature writes and does not read: \(list)."
            state.withLock { $0.faults.append(text) }
        case .slowTurn, .undelivered, .commitFailed, .unrecordable: return
        }
        signal.send()
    }

    // MARK: What the test takes

    /// Takes the first message of which `isExpected` holds, with those before it if there is one; else nothing.
    func takeMessage(where isExpected: (F.Message) -> Bool) -> Reduced? {
        take(\.messages) { isExpected($0.message) }
    }

    /// Takes the messages of the turn that an intent began.
    func takeMessages(of intentID: IntentID) -> [Reduced] {
        state.withLock { state in
            guard let turn = state.intents[intentID] else { return [] }
            defer { state.messages.removeAll { $0.turn == turn } }
            return state.messages.filter { $0.turn == turn }
        }
    }

    /// The same as with messages.
    func takeLabel(where isExpected: (F.Label) -> Bool) -> F.Label? { take(\.labels, where: isExpected) }
    func takeAction(where isExpected: (F.Action) -> Bool) -> F.Action? { take(\.actions, where: isExpected) }
    func takeSent(where isExpected: (Sent) -> Bool) -> Sent? { take(\.sent, where: isExpected) }

    /// The test alone takes, and what comes is added at the end: so its closure need not be called under the lock.
    private func take<Element>(
        _ list: WritableKeyPath<State, [Element]>, where isExpected: (Element) -> Bool
    ) -> Element? {
        let elements = state.withLock { $0[keyPath: list] }
        guard let index = elements.firstIndex(where: isExpected) else { return nil }
        state.withLock { $0[keyPath: list].removeFirst(index + 1) }
        return elements[index]
    }

    /// Takes the first failure.
    func takeFailure() -> Failure? {
        state.withLock { $0.failures.isEmpty ? nil : $0.failures.removeFirst() }
    }

    /// Takes the failures that came of an intent: in a chain that of the feature which failed and that of the sender.
    func takeFailures(of intentID: IntentID) {
        state.withLock { state in state.failures.removeAll { $0.intentID == intentID } }
    }

    func takeFaults() -> [String] {
        state.withLock { state in
            defer { state.faults = [] }
            return state.faults
        }
    }

    /// What the test has not asserted, a text for each kind.
    var open: [String] {
        let state = state.withLock { $0 }
        let kinds = [
            ("message was not received", "messages were not received", state.messages.map { describe($0.message) }),
            ("label was not expected", "labels were not expected", state.labels.map { describe($0) }),
            ("failure was not expected", "failures were not expected", state.failures.map { describe($0) }),
            (
                "intent or action to another store was not expected",
                "intents or actions to other stores were not expected", state.sent.map(\.text)
            ),
        ]
        return kinds.compactMap { one, many, left in
            let list = left.map { "  \($0)" }.joined(separator: "\n")
            return left.isEmpty ? nil : "\(left.count) \(left.count == 1 ? one : many) by the test:\n\(list)"
        }
    }

    func removeAll() { state.withLock { $0 = State() } }
}

/// Has the inbox told of every turn of the session's stores.
struct InboxWitness<F: Feature>: CommonMiddleware {
    let inbox: Inbox<F>

    func middleware<Other: Feature>(for feature: Other.Type) -> Middleware<Other> {
        let own = inbox as? Inbox<Other>
        return Middleware(witness: { [inbox] events, intentID, instance, isSent in
            if let own, instance == own.instance {
                own.note(events, intentID)
            } else if isSent {
                inbox.note(sent: events, instance)
            }
        })
    }
}
