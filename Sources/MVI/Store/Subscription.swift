/// A subscriber's end of a subscription: an asynchronous sequence for one consumer. It ends with `cancel`, with the
/// store, or when nobody holds it any more.
public final class Subscription<F: Feature>: AsyncSequence, Sendable {
    /// A state or a label.
    public typealias Element = StoreEvent<F>
    /// It does not throw.
    public typealias Failure = Never

    private let store: Store<F>
    private let id: UInt64?
    private let mailbox: Mailbox<F>

    init(store: Store<F>, id: UInt64?, mailbox: Mailbox<F>) {
        self.store = store
        self.id = id
        self.mailbox = mailbox
    }

    deinit { cancel() }

    /// Ends it: no event comes any more, except one that another thread is delivering right now. The others go on.
    /// Labels that it did not take are kept for the next subscriber if it was the only one who takes labels.
    public func cancel() {
        if let id { store.output.unsubscribe(id) }
        mailbox.drain()
    }

    /// Takes one event after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let subscription: Subscription<F>

        /// The next event; nil when the store has ended, the subscription was cancelled or the calling task is.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> StoreEvent<F>? {
            let subscription = subscription
            return await withTaskCancellationHandler {
                await subscription.mailbox.next()
            } onCancel: {
                subscription.cancel()
            }
        }

        /// The same; isolation makes no difference.
        public mutating func next() async -> StoreEvent<F>? { await next(isolation: nil) }
    }

    /// The consumer's end: there is one consumer.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: self) }
}

/// What a subscription is told of.
public struct SubscriptionKinds: OptionSet, Sendable {
    /// One bit for each kind.
    public let rawValue: Int

    /// The kinds of those bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// View states: the one now, then every later one.
    public static let states = SubscriptionKinds(rawValue: 1)
    /// Labels: those that nobody was there for, then every later one.
    public static let labels = SubscriptionKinds(rawValue: 2)
}

extension Store {
    /// The view state now and every later one, each before the labels of its turn, with no gap and no repeat.
    public func subscribe(_ kinds: SubscriptionKinds = [.states, .labels]) -> Subscription<F> {
        subscribe(kinds, sink: nil)
    }

    /// The same by callback: `sink` is called in order, one call at a time, on the threads that run the store, never
    /// under a lock. The subscription lasts as long as it is held.
    public func subscribe(
        _ kinds: SubscriptionKinds = [.states, .labels], sink: @escaping @Sendable (StoreEvent<F>) -> Void
    ) -> Subscription<F> {
        subscribe(kinds, sink: Optional(sink))
    }

    private func subscribe(
        _ kinds: SubscriptionKinds, sink: (@Sendable (StoreEvent<F>) -> Void)?
    ) -> Subscription<F> {
        let mailbox = Mailbox<F>(kinds, sink: sink)
        return Subscription(store: self, id: output.subscribe(mailbox, to: typed), mailbox: mailbox)
    }
}
