import Locking

/// What a subscriber is told.
public enum StoreEvent<F: Feature>: Sendable {
    /// The view state now.
    case state(F.ViewState)
    /// A label.
    case label(F.Label)
}

/// One subscriber's events in order, between the store that appends and the subscriber that takes.
///
/// Unbounded: observers in the process see every state (SEMANTICS' promise), and a subscriber that never takes is a
/// fault of the program, not of a client.
final class Mailbox<F: Feature>: Sendable {
    private struct Box {
        var events: [StoreEvent<F>] = []
        var isFinished = false
        var isDelivering = false
        var waiter: CheckedContinuation<StoreEvent<F>?, Never>?
    }

    let takesStates: Bool
    let takesLabels: Bool
    private let sink: (@Sendable (StoreEvent<F>) -> Void)?
    private let box = Lock(Box())

    init(takesStates: Bool, takesLabels: Bool, sink: (@Sendable (StoreEvent<F>) -> Void)?) {
        self.takesStates = takesStates
        self.takesLabels = takesLabels
        self.sink = sink
    }

    /// Adds an event; may be called under the store's lock, since it only stores. `drain` delivers it.
    func append(_ event: StoreEvent<F>) {
        box.withLock { if !$0.isFinished { $0.events.append(event) } }
    }

    /// Delivers what there is. One thread at a time delivers; another that comes goes on.
    func drain() {
        if let sink {
            var isMine = false
            while let events = takeForSink(&isMine) {
                for event in events { sink(event) }
            }
            return
        }
        let (waiter, event) = box.withLock { box -> (CheckedContinuation<StoreEvent<F>?, Never>?, StoreEvent<F>?) in
            guard let waiter = box.waiter, !box.events.isEmpty || box.isFinished else { return (nil, nil) }
            box.waiter = nil
            return (waiter, box.events.isEmpty ? nil : box.events.removeFirst())
        }
        waiter?.resume(returning: event)
    }

    private func takeForSink(_ isMine: inout Bool) -> [StoreEvent<F>]? {
        box.withLock { box in
            if box.isDelivering && !isMine { return nil }
            // Whoever delivers comes back here until nothing is left.
            isMine = !box.events.isEmpty
            box.isDelivering = isMine
            guard isMine else { return nil }
            let events = box.events
            box.events = []
            return events
        }
    }

    /// The next event, nil at the end. One caller at a time.
    func next() async -> StoreEvent<F>? {
        await withCheckedContinuation { continuation in
            box.withLock { box in
                precondition(box.waiter == nil, "a subscription has one consumer")
                box.waiter = continuation
            }
            drain()
        }
    }

    /// No more events; those that wait are still delivered.
    func finish() {
        box.withLock { $0.isFinished = true }
        drain()
    }
}
