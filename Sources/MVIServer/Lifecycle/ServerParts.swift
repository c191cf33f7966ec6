import Locking
import MicroHTTP
import SessionJournal
import Sessions

/// The parts of a server that its monitor checks.
final class ServerParts: Sendable {
    let monitor: PartsMonitor
    private let server: Lock<HTTPServer?>

    init(_ sessions: SessionTable) {
        let environment = sessions.environment
        let server = Lock<HTTPServer?>(nil)
        self.server = server
        monitor = PartsMonitor(
            [
                PartsMonitor.Part(name: "the journal's writer") { answer in
                    environment.journal.touch([]) { _ in answer() }
                },
                PartsMonitor.Part(name: "the journal's reader") { answer in
                    environment.journal.secret { _ in answer() }
                },
                PartsMonitor.Part(name: "the executor of launched work") { answer in
                    Task(executorPreference: environment.executor) { answer() }
                },
                PartsMonitor.Part(name: "the streams' thread") { answer in
                    guard let server = server.withLock({ $0 }) else { return answer() }
                    server.askReactor(answer)
                },
            ], time: environment.time.monotonic)
    }

    /// Sets the server to check.
    func setServer(_ http: HTTPServer) { server.withLock { $0 = http } }
}
