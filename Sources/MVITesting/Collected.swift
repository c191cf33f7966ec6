import Locking

/// Elements that callbacks add from any thread, in order, for a test to inspect.
public final class Collected<Element: Sendable>: Sendable {
    private let elements = Lock<[Element]>([])
    private let signal = Signal()

    /// Creates an empty collection.
    public init() {}

    /// The elements so far.
    public var all: [Element] { elements.withLock { $0 } }

    /// Adds an element.
    public func append(_ element: Element) {
        elements.withLock { $0.append(element) }
        signal.send()
    }

    /// Returns the elements when there are at least `count`, or when the calling task is canceled.
    @discardableResult
    public func atLeast(_ count: Int) async -> [Element] {
        await until { $0.count >= count }
    }

    /// Returns the elements when they fulfill a condition, or when the calling task is canceled.
    @discardableResult
    public func until(_ isEnough: ([Element]) -> Bool) async -> [Element] {
        _ = await signal.wait(until: { isEnough(all) })
        return all
    }
}
