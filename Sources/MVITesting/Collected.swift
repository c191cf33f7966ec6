import Locking

/// What callbacks hand over from any thread, in order, for a test to look at.
public final class Collected<Element: Sendable>: Sendable {
    private let elements = Lock<[Element]>([])
    private let signal = Signal()

    /// Nothing yet.
    public init() {}

    /// What came so far.
    public var all: [Element] { elements.withLock { $0 } }

    /// Adds an element.
    public func append(_ element: Element) {
        elements.withLock { $0.append(element) }
        signal.send()
    }

    /// What came, once it is at least that many elements or the calling task is cancelled.
    @discardableResult
    public func atLeast(_ count: Int) async -> [Element] {
        await until { $0.count >= count }
    }

    /// What came, once it is as the test wants it or the calling task is cancelled.
    @discardableResult
    public func until(_ isEnough: ([Element]) -> Bool) async -> [Element] {
        _ = await signal.wait(until: { isEnough(all) })
        return all
    }
}
