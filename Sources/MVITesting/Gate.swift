import Locking

/// Blocks tasks until a test opens it. It never closes again.
///
/// ```swift
/// let gate = Gate()
/// let feature = Loader { try await gate.wait(); return 42 }
/// …                       // the state says "loading" now
/// gate.open()
/// ```
public final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting = 0
    }

    private let state = Lock(State())
    private let signal = Signal()

    /// Creates a closed gate.
    public init() {}

    /// True if the gate was opened.
    public var isOpen: Bool { state.withLock { $0.isOpen } }

    /// Lets all present and later tasks pass. A second call does nothing.
    public func open() {
        state.withLock { $0.isOpen = true }
        signal.send()
    }

    /// Returns when the gate is open.
    ///
    /// - Throws: `CancellationError` if the calling task is canceled during the wait.
    public func wait() async throws {
        state.withLock { $0.waiting += 1 }
        signal.send()
        defer { state.withLock { $0.waiting -= 1 } }
        if await !signal.wait(until: { isOpen }) { throw CancellationError() }
    }

    /// Returns when the gate is open, even in a canceled task: for work that ignores its cancellation.
    public func waitDespiteCancellation() async {
        await Task.detached { try? await self.wait() }.value
    }

    /// Returns when at least `count` tasks wait at the gate, or when the calling task is canceled.
    public func waiters(atLeast count: Int = 1) async {
        _ = await signal.wait(until: { state.withLock { $0.waiting >= count } })
    }
}
