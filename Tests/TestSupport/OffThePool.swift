import Locking

/// Runs what blocks on a thread of its own: the pool's threads are for the code under test. Dispatch's would not do, since
/// Swift's pool takes its threads from there, too.
public func offThePool<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        let thread = SystemThread { continuation.resume(with: Result { try body() }) }
        guard let thread else { return continuation.resume(throwing: NoThread()) }
        thread.detach()
    }
}

/// The system gave no thread.
private struct NoThread: Error {}
