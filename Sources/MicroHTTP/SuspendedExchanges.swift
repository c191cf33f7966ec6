import Locking

/// The exchanges whose connections are suspended, so that none is left when the daemon stops: libmicrohttpd aborts
/// the process if one is.
final class SuspendedExchanges: Sendable {
    private struct State {
        var exchanges: [ObjectIdentifier: Exchange] = [:]
        var isClosed = false
    }

    private let state = Lock(State())
    private let changed: @Sendable () -> Void

    init(changed: @escaping @Sendable () -> Void) {
        self.changed = changed
    }

    var count: Int { state.withLock { $0.exchanges.count } }

    /// False once the register is closed.
    func insert(_ exchange: Exchange) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.exchanges[ObjectIdentifier(exchange)] = exchange
            return true
        }
    }

    func remove(_ exchange: Exchange) {
        let removed = state.withLock { $0.exchanges.removeValue(forKey: ObjectIdentifier(exchange)) }
        if removed != nil { changed() }
    }

    /// Takes in no more, and gives those that are left.
    func close() -> [Exchange] {
        state.withLock { state in
            state.isClosed = true
            return Array(state.exchanges.values)
        }
    }
}
