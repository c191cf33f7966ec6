import Locking
import MVI

/// The events of a store under test that the test has not asserted yet. Turns are added in order at their commit.
final class Inbox<F: Feature>: Sendable {
    struct Reduced: Sendable {
        let message: F.Message
        let before: F.State
        let after: F.State
        /// The number of the store's turn.
        let turn: Int
    }

    /// An intent or an action that a turn sent to another store.
    struct Sent: Sendable {
        let value: any Sendable
        let instance: String

        var text: String { "\(describe(value)) to \(instance)" }
    }

    /// A published label.
    struct Published: Sendable {
        let label: F.Label
        var to: Addressee<F.Audience> = .everyone
        /// The sender of its turn.
        var sender: Sender?

        var text: String { to == .everyone ? describe(label) : "\(describe(label)) to \(to.text)" }
    }

    /// The events that the test has not asserted, in order.
    struct Open: Sendable {
        var messages: [Reduced] = []
        var labels: [Published] = []
        var failures: [Failure] = []
        var sent: [Sent] = []
    }

    private struct State {
        var turns = 0
        var open = Open()
        /// The turns of the test's intents.
        var intents: [IntentID: Int] = [:]
        var actions: [F.Action] = []
        /// Faults that no test expects: stored states that could not be read.
        var faults: [String] = []
    }

    let instance: String
    private let state = Lock(State())
    private let signal: Signal

    /// Creates an inbox that notifies `signal` of each event.
    init(instance: String, signal: Signal) { (self.instance, self.signal) = (instance, signal) }

    var open: Open { state.withLock { $0.open } }
    var actions: [F.Action] { state.withLock { $0.actions } }

    // MARK: Recording

    /// Records a turn of the store under test.
    func note(_ events: [StoreObservation<F>.Event], _ intentID: IntentID, _ witnessed: Witnessed<F>) {
        state.withLock { state in
            state.turns += 1
            var labels = 0
            for event in events {
                switch event {
                case .intent: if state.intents[intentID] == nil { state.intents[intentID] = state.turns }
                case .message(let message, let before, let after):
                    state.open.messages.append(
                        Reduced(message: message, before: before, after: after, turn: state.turns))
                case .action(let action): state.actions.append(action)
                case .label(let label):
                    let to = witnessed.addressees.first { $0.label == labels }?.to
                    state.open.labels.append(
                        Published(label: label, to: to ?? .everyone, sender: witnessed.sender))
                    labels += 1
                case .started, .refused, .failed, .ended: break
                }
            }
        }
        signal.send()
    }

    /// Records a turn that a turn of another store caused.
    func note<Other: Feature>(sent events: [StoreObservation<Other>.Event], _ instance: String) {
        // The turn threw, so its chain is undone.
        if case .failed? = events.last { return }
        let value: any Sendable
        switch events.first {
        case .intent(let intent): value = intent
        case .action(let action): value = action
        default: return
        }
        state.withLock { $0.open.sent.append(Sent(value: value, instance: instance)) }
        signal.send()
    }

    func note(_ report: StoreReport) {
        switch report {
        case .failure(let failure, _): state.withLock { $0.open.failures.append(failure) }
        case .stateSetAside(let reason, let place):
            let text = "The kept state of \(place.instance) could not be read, so the store began anew: \(reason)"
            state.withLock { $0.faults.append(text) }
        case .membersUnread(let members, let instance):
            let list = members.joined(separator: ", ")
            let text = "The kept state of \(instance) has members that its feature writes and does not read: \(list)."
            state.withLock { $0.faults.append(text) }
        case .slowTurn, .undelivered, .commitFailed, .unrecordable, .recordingsLost, .messageLost, .notForgotten: return
        }
        signal.send()
    }

    // MARK: Assertions

    /// The messages of an intent's turn that were not asserted.
    func messages(of intentID: IntentID) -> [Reduced] {
        state.withLock { state in
            let turn = state.intents[intentID]
            return turn == nil ? [] : state.open.messages.filter { $0.turn == turn }
        }
    }

    /// Removes and returns the messages up to the first expected one; none if there is no such message.
    func takeMessages(to isExpected: (F.Message) -> Bool) -> [Reduced] {
        take(\.open.messages) { isExpected($0.message) }
    }

    /// Removes and returns the messages of an intent's turn.
    func takeMessages(of intentID: IntentID) -> [Reduced] {
        state.withLock { state in
            guard let turn = state.intents[intentID] else { return [] }
            defer { state.open.messages.removeAll { $0.turn == turn } }
            return state.open.messages.filter { $0.turn == turn }
        }
    }

    /// Removes and returns the labels up to the first expected one; none if there is no such label.
    func takeLabels(to isExpected: (Published) -> Bool) -> [Published] { take(\.open.labels, to: isExpected) }
    func takeActions(to isExpected: (F.Action) -> Bool) -> [F.Action] { take(\.actions, to: isExpected) }
    func takeSent(to isExpected: (Sent) -> Bool) -> [Sent] { take(\.open.sent, to: isExpected) }

    /// Removes and returns all events except failures, which must be expected; nil if there are none.
    func takeUnasserted() -> Open? {
        let open = state.withLock { state in
            defer { (state.open, state.actions) = (Open(failures: state.open.failures), []) }
            return Open(messages: state.open.messages, labels: state.open.labels, sent: state.open.sent)
        }
        return open.texts.isEmpty ? nil : open
    }

    /// Only the test removes elements, and new ones are appended, so its closure can run without the lock.
    private func take<Element>(
        _ list: WritableKeyPath<State, [Element]>, to isExpected: (Element) -> Bool
    ) -> [Element] {
        let elements = state.withLock { $0[keyPath: list] }
        guard let index = elements.firstIndex(where: isExpected) else { return [] }
        state.withLock { $0[keyPath: list].removeFirst(index + 1) }
        return Array(elements[...index])
    }

    /// Removes and returns the first failure.
    func takeFailure() -> Failure? {
        state.withLock { $0.open.failures.isEmpty ? nil : $0.open.failures.removeFirst() }
    }

    /// Removes the failures of an intent. In a chain, both the failed feature and the sender have one.
    func takeFailures(of intentID: IntentID) {
        state.withLock { state in state.open.failures.removeAll { $0.intentID == intentID } }
    }

    func takeFaults() -> [String] {
        state.withLock { state in
            defer { state.faults = [] }
            return state.faults
        }
    }

    func removeAll() { state.withLock { $0 = State() } }
}

extension Inbox.Open {
    /// A text for each kind of event.
    var texts: [String] {
        let kinds = [
            ("message was not received", "messages were not received", messages.map { describe($0.message) }),
            ("label was not expected", "labels were not expected", labels.map(\.text)),
            ("failure was not expected", "failures were not expected", failures.map { describe($0) }),
            (
                "intent or action to another store was not expected",
                "intents or actions to other stores were not expected", sent.map(\.text)
            ),
        ]
        return kinds.compactMap { one, many, left in
            let list = left.map { "  \($0)" }.joined(separator: "\n")
            return left.isEmpty ? nil : "\(left.count) \(left.count == 1 ? one : many) by the test:\n\(list)"
        }
    }
}

/// Notifies the inbox of each turn of the session's stores.
struct InboxWitness<F: Feature>: CommonMiddleware {
    let inbox: Inbox<F>

    func middleware<Other: Feature>(for feature: Other.Type) -> Middleware<Other> {
        let own = inbox as? Inbox<Other>
        return Middleware(witness: { [inbox] events, intentID, instance, witnessed in
            if let own, instance == own.instance {
                own.note(events, intentID, witnessed)
            } else if witnessed.isSent {
                inbox.note(sent: events, instance)
            }
        })
    }
}
