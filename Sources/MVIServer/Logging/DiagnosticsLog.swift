import Logging
import MVI

/// What stores counted and reported nowhere else, as log lines: one whenever a count has grown.
struct DiagnosticsLog {
    private let logger: Logger
    private var last = StoreDiagnostics()

    init(_ logger: Logger) { self.logger = logger }

    /// Takes the sums over the stores in memory. A sum shrinks when a store leaves memory, which is no news.
    mutating func note(_ now: StoreDiagnostics) {
        log("Observers were too slow and missed what happened", \.missedObservations, now)
        log("Observers threw", \.observerFailures, now)
        log("Throws were too many to be handed to features", \.droppedFailures, now)
        last = now
    }

    private func log(_ message: Logger.Message, _ count: KeyPath<StoreDiagnostics, Int>, _ now: StoreDiagnostics) {
        let grown = now[keyPath: count] - last[keyPath: count]
        guard grown > 0 else { return }
        logger.warning(message, metadata: ["count": "\(grown)"])
    }
}
