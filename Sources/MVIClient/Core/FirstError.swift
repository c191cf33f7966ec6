import Locking

/// Passes the first of several errors on.
final class FirstError: Sendable {
    private let isPassed = Lock(false)
    private let pass: @Sendable (RemoteError) -> Void

    /// - Parameter pass: called once, from the thread of the first error.
    init(_ pass: @escaping @Sendable (RemoteError) -> Void) { self.pass = pass }

    func callAsFunction(_ error: RemoteError) {
        let isFirst = isPassed.withLock { isPassed in
            defer { isPassed = true }
            return !isPassed
        }
        if isFirst { pass(error) }
    }
}
