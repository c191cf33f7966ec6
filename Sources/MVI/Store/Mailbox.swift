import Locking

/// What a subscriber is told.
public enum StoreEvent<F: Feature>: Sendable {
    /// The view state now.
    case state(F.ViewState)
    /// A label.
    case label(F.Label)

    var label: F.Label? { if case .label(let label) = self { label } else { nil } }
}

/// One subscriber's events in order, between the store that appends and the subscriber that takes.
///
/// Unbounded: observers in the process see every state (SEMANTICS' promise), and a subscriber that never takes is a
/// fault of the program, not of a client.
@usableFromInline
final class Mailbox<F: Feature>: Sendable {
    struct Box {
        var events: [StoreEvent<F>] = []
        /// Where in `events` the next one is.
        var head = 0
        var isFinished = false
        var isDelivering = false
        var waiter: CheckedContinuation<StoreEvent<F>?, Never>?

        mutating func next() -> StoreEvent<F>? {
            guard head < events.count else { return nil }
            let event = events[head]
            head += 1
            // Taken ones are cleared away now and then: removing the first each time would move all others.
            if head == events.count || (head >= 64 && head * 2 >= events.count) {
                events.removeFirst(head)
                head = 0
            }
            return event
        }
    }

    let kinds: SubscriptionKinds
    let sink: (@Sendable (StoreEvent<F>) -> Void)?
    let box = Lock(Box())

    init(_ kinds: SubscriptionKinds, sink: (@Sendable (StoreEvent<F>) -> Void)?) {
        self.kinds = kinds
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
            while let event = takeForSink(&isMine) { sink(event) }
            return
        }
        let (waiter, event) = box.withLock { box -> (CheckedContinuation<StoreEvent<F>?, Never>?, StoreEvent<F>?) in
            guard let waiter = box.waiter, box.head < box.events.count || box.isFinished else { return (nil, nil) }
            box.waiter = nil
            return (waiter, box.next())
        }
        waiter?.resume(returning: event)
    }

    private func takeForSink(_ isMine: inout Bool) -> StoreEvent<F>? {
        box.withLock { box in
            if box.isDelivering && !isMine { return nil }
            let event = box.next()
            // Whoever delivers comes back here until nothing is left.
            isMine = event != nil
            box.isDelivering = isMine
            return event
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

    /// No more events, also none of those that wait: returns them. May be called under the store's lock; `drain` tells a
    /// consumer that waits.
    func close() -> [StoreEvent<F>] {
        box.withLock { box in
            defer { (box.events, box.head) = ([], 0) }
            box.isFinished = true
            return Array(box.events[box.head...])
        }
    }
}
