import Locking

/// Counts events and warns of them at most once a minute.
final class RareWarning: Sendable {
    private static let pause: Duration = .seconds(60)

    private let state = Lock<(last: Duration?, count: Int)>((nil, 0))

    /// Counts an event. Returns the count since the last warning if a warning is due.
    func note(at now: Duration) -> Int? {
        state.withLock { state in
            state.count += 1
            if let last = state.last, now - last < Self.pause { return nil }
            defer { state = (now, 0) }
            return state.count
        }
    }
}
