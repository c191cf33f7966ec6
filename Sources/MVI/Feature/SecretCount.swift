import Locking

/// The number of pseudonyms that were read in the place of secrets.
package final class SecretCount: Sendable {
    private let number = Lock(0)

    package init() {}

    /// Counts one.
    func count() { number.withLock { $0 += 1 } }

    package var value: Int { number.withLock { $0 } }
}
