import Logging
import MVI

/// The log lines of stores' reports.
enum StoreReportLog {
    static func log(_ report: StoreReport, _ logger: Logger) {
        switch report {
        case .failure(let failure, let place):
            var metadata: Logger.Metadata = [
                "feature": "\(place.instance)", "session": "\(place.session)", "intent": "\(failure.intentID.text)",
                "stage": "\(failure.stage)",
                "error": "\(failure.error)",
            ]
            if let name = failure.intentName { metadata["intentName"] = "\(name)" }
            logger.error("A feature's code threw", metadata: metadata)
        case .slowTurn(let time, let intentID, let place):
            logger.warning(
                "A turn kept its thread too long; what waits belongs into launched work",
                metadata: [
                    "feature": "\(place.instance)", "session": "\(place.session)", "intent": "\(intentID.text)",
                    "time": "\(time)",
                ])
        case .undelivered(let count, let place):
            logger.notice(
                "Labels were dropped before any client got them",
                metadata: ["feature": "\(place.instance)", "session": "\(place.session)", "count": "\(count)"])
        case .stateSetAside(let reason, let place):
            logger.error(
                "A kept state could not be read; it was set aside and the store began anew",
                metadata: ["feature": "\(place.instance)", "session": "\(place.session)", "reason": "\(reason)"])
        case .membersUnread(let members, let instance):
            logger.error(
                "A kept state has members that its feature does not read; the state is set aside when it changes",
                metadata: ["feature": "\(instance)", "members": "\(members.joined(separator: ", "))"])
        case .unrecordable(let feature):
            logger.warning(
                "Turns of a feature cannot be recorded: its messages or actions are not Codable",
                metadata: ["feature": "\(feature)"])
        case .commitFailed(let error, _) where error.code == .gone:
            // A client ended the session while its work ran: no fault, and nothing is tried again.
            break
        case .commitFailed(let error, let place):
            logger.error(
                "Turns could not be committed",
                metadata: ["feature": "\(place.instance)", "session": "\(place.session)", "error": "\(error.detail)"])
        }
    }
}

/// The log lines of stores' counters: one whenever a counter has grown.
struct DiagnosticsLog {
    private let logger: Logger
    private var last = StoreDiagnostics()

    init(_ logger: Logger) { self.logger = logger }

    /// Takes the sums over the stores in memory. A sum shrinks when a store leaves memory, which is no news.
    mutating func note(_ now: StoreDiagnostics) {
        log("Observers were too slow and missed what happened", \.missedObservations, now)
        log("Observers threw", \.observerFailures, now)
        log("Throws were too many to be handed to features", \.droppedFailures, now)
        log("Steps came of launched work that had ended; wait in the work for what it starts", \.droppedLateSteps, now)
        log("Messages were for parts that had left their list or were nil", \.droppedForGoneParts, now)
        last = now
    }

    private func log(_ message: Logger.Message, _ count: KeyPath<StoreDiagnostics, Int>, _ now: StoreDiagnostics) {
        let grown = now[keyPath: count] - last[keyPath: count]
        guard grown > 0 else { return }
        logger.warning(message, metadata: ["count": "\(grown)"])
    }
}
