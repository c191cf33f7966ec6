import Locking

/// Values that callbacks pass from any thread, in order, for a test.
public final class Collected<Element: Sendable>: Sendable {
    private let elements = Lock<[Element]>([])
    private let signal = Signal()

    /// Nothing yet.
    public init() {}

    /// The values so far.
    public var all: [Element] { elements.withLock { $0 } }

    /// Adds an element.
    public func append(_ element: Element) {
        elements.withLock { $0.append(element) }
        signal.send()
    }

    /// Returns the values when there are at least that many, or when the calling task is canceled.
    @discardableResult
    public func atLeast(_ count: Int) async -> [Element] {
        await until { $0.count >= count }
    }

    /// Returns the values when they meet the condition, or when the calling task is canceled.
    @discardableResult
    public func until(_ isEnough: ([Element]) -> Bool) async -> [Element] {
        _ = await signal.wait(until: { isEnough(all) })
        return all
    }
}
