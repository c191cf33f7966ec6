import ServiceLifecycle
import Sessions

/// Ends sessions whose time is over, a bounded number at a time.
struct SessionSweeper: Service {
    private static let interval: Duration = .seconds(5)

    let sessions: SessionTable

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do { try await Task.sleep(for: Self.interval) } catch is CancellationError { return }
                sessions.sweep()
            }
        }
    }
}
