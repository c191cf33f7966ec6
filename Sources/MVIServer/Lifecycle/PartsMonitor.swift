import Dispatch
import Locking
import ServiceLifecycle

/// Asks each part of the server once a second to do some small work. While a part does not answer, the server is not
/// ready, so that load balancers use other servers.
package final class PartsMonitor: Service {
    struct Part: Sendable {
        /// The name in answers and in the log.
        let name: String
        /// Calls `answer` on any thread after the part has done some work.
        let ask: @Sendable (_ answer: @escaping @Sendable () -> Void) -> Void
    }

    /// The time after which a part without an answer counts as hung.
    private static let patience: Duration = .seconds(3)

    private let parts: [Part]
    private let time: @Sendable () -> Duration
    /// The time at which each part was asked; nil after its answer.
    private let asked: Lock<[Duration?]>

    init(_ parts: [Part], time: @escaping @Sendable () -> Duration) {
        self.parts = parts
        self.time = time
        asked = Lock([Duration?](repeating: nil, count: parts.count))
    }

    /// The parts that have not answered for too long.
    var silent: [String] { unanswered(for: Self.patience) }

    /// Returns the parts that have not answered for a time.
    func unanswered(for patience: Duration) -> [String] {
        let now = time()
        let asked = asked.withLock { $0 }
        return zip(parts, asked).compactMap { part, asked in
            asked.map { now - $0 >= patience } == true ? part.name : nil
        }
    }

    /// Asks the parts that have answered.
    func ask() {
        let now = time()
        for index in parts.indices {
            let isFree = asked.withLock { asked in
                defer { asked[index] = asked[index] ?? now }
                return asked[index] == nil
            }
            guard isFree else { continue }
            parts[index].ask { [asked] in asked.withLock { $0[index] = nil } }
        }
    }

    /// Runs on a thread of its own: the executor of tasks is one of the parts.
    package func run() async throws {
        let end = DispatchSemaphore(value: 0)
        let thread = SystemThread { [self] in
            while end.wait(timeout: .now() + .seconds(1)) == .timedOut { ask() }
        }
        thread?.detach()
        try? await gracefulShutdown()
        end.signal()
    }
}
