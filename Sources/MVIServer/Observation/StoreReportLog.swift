import Logging
import MVI

/// Logs the reports of stores.
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
                "A turn took too long; move waiting code into launched work",
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
                "A stored state could not be decoded; it was set aside and the store was reset",
                metadata: ["feature": "\(place.instance)", "session": "\(place.session)", "reason": "\(reason)"])
        case .membersUnread(let members, let instance):
            logger.error(
                "A stored state has unknown members; it is set aside at the next change",
                metadata: ["feature": "\(instance)", "members": "\(members.joined(separator: ", "))"])
        case .unrecordable(let feature):
            logger.warning(
                "Turns of a feature cannot be recorded: its messages or actions are not Codable",
                metadata: ["feature": "\(feature)"])
        case .recordingsLost(let count, let error):
            logger.error(
                "Recordings of turns were lost",
                metadata: ["count": "\(count)", "error": "\(error?.detail ?? "The journal is too slow.")"])
        case .messageLost(let message, let place):
            logger.error(
                "A message was given up; its teller is told",
                metadata: [
                    "feature": "\(place.instance)", "session": "\(place.session)", "to": "\(message.instance)",
                    "reason": "\(message.reason)", "error": "\(message.detail)",
                ])
        case .notForgotten(let error):
            logger.error(
                "A shared store still has data of a deleted person; it is tried again in an hour",
                metadata: ["error": "\(error.detail)"])
        case .commitFailed(let error, _) where error.code == .gone:
            // A client ended the session while its work ran: this is no fault, and there is no retry.
            break
        case .commitFailed(let error, let place):
            logger.error(
                "Turns could not be committed",
                metadata: ["feature": "\(place.instance)", "session": "\(place.session)", "error": "\(error.detail)"])
        }
    }
}

/// Logs a line whenever a diagnostic count of stores has grown.
struct DiagnosticsLog {
    private let logger: Logger
    private var last = StoreDiagnostics()

    init(_ logger: Logger) { self.logger = logger }

    /// Logs the growth of the sums over the stores in memory. A sum shrinks when a store leaves memory; this is not
    /// logged.
    mutating func note(_ now: StoreDiagnostics) {
        log("Observers were too slow and missed events", \.missedObservations, now)
        log("Observers threw", \.observerFailures, now)
        log("Errors were dropped: too many to deliver to features", \.droppedFailures, now)
        log("Results of launched work came after its end; await child tasks in the work", \.droppedLateSteps, now)
        log("Messages were dropped: their parts had been removed", \.droppedForGoneParts, now)
        last = now
    }

    private func log(_ message: Logger.Message, _ count: KeyPath<StoreDiagnostics, Int>, _ now: StoreDiagnostics) {
        let grown = now[keyPath: count] - last[keyPath: count]
        guard grown > 0 else { return }
        logger.warning(message, metadata: ["count": "\(grown)"])
    }
}
