import Synchronization

/// Counts the requests that wait for their response. A daemon must not be stopped while one is suspended: libmicrohttpd
/// aborts the process.
final class WaitingExchanges: Sendable {
    private let number = Atomic(0)
    private let changed: @Sendable () -> Void

    init(changed: @escaping @Sendable () -> Void) { self.changed = changed }

    var count: Int { number.load(ordering: .acquiring) }

    func begin() { number.add(1, ordering: .relaxed) }

    func end() {
        number.subtract(1, ordering: .acquiringAndReleasing)
        changed()
    }
}
