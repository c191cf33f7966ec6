import Locking

/// Runs blocking code on a thread of its own: the pool's threads are for the tested code. Dispatch does not help, since
/// Swift's pool uses the same threads.
public func offThePool<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        let thread = SystemThread { continuation.resume(with: Result { try body() }) }
        guard let thread else { return continuation.resume(throwing: NoThread()) }
        thread.detach()
    }
}

/// The system could not create a thread.
private struct NoThread: Error {}
