import Locking
import MicroHTTP
import Sessions
import WireJSON

/// The readiness for new work. False while the server stops, the journal is not writable, or a part does not answer.
struct Readiness: Sendable {
    let sessions: SessionTable
    let monitor: PartsMonitor?

    /// The reason for not being ready; nil if the server is ready.
    var problem: Problem? {
        if sessions.isDraining { return Problem(.draining, "The server is stopping.", retryAfter: .seconds(2)) }
        if sessions.environment.journal.trouble != nil {
            return Problem(.notReady, "The journal is not writable.", retryAfter: .seconds(5))
        }
        if let trouble = sessions.environment.lease?.addressTrouble {
            return Problem(.notReady, trouble, retryAfter: .seconds(13))
        }
        if !sessions.mayRunWork {
            return Problem(
                .notReady, "The server is not registered in the shared journal: it just started, or lost its lease.",
                retryAfter: .seconds(2))
        }
        if let trouble = sessions.environment.lease?.clock.trouble {
            return Problem(.notReady, trouble, retryAfter: .seconds(60))
        }
        if let silent = monitor?.silent, !silent.isEmpty {
            return Problem(
                .notReady, "No answer from \(silent.joined(separator: " and ")).", retryAfter: .seconds(5))
        }
        return nil
    }
}

/// `/health/live` and `/health/ready`.
struct HealthEndpoints: Sendable {
    let sessions: SessionTable
    let readiness: Readiness
    /// The last report and its time. Looking at every store takes milliseconds, and anyone may ask.
    private let last = Lock<(time: Duration, stores: [UInt8])?>(nil)

    init(sessions: SessionTable, readiness: Readiness) {
        self.sessions = sessions
        self.readiness = readiness
    }

    var all: [Route] {
        [
            // The answer proves that the process runs.
            Route("reportLiveness", "/health/live", takesAnyHost: true) { _ in
                Response(
                    status: 200, fields: AnswerFields.momentaryJSON, body: .bytes(Array(#"{"status":"live"}"#.utf8)))
            },
            Route("reportReadiness", .get, "/health/ready", takesAnyHost: true, .everyone(ready)),
        ]
    }

    @Sendable
    private func ready(_ incoming: Incoming) throws(Problem) -> Route.Answer {
        if let problem = readiness.problem { throw problem }
        return { _, reply in
            var answer = JSONObject()
            answer.add("status", "ready")
            answer.add("stores", json: stores())
            reply.answer(Response(status: 200, fields: AnswerFields.momentaryJSON, body: .bytes(answer.close())))
        }
    }

    /// The sum of the stores' diagnostics, for those in memory.
    private func stores() -> [UInt8] {
        let now = sessions.environment.time.monotonic()
        if let last = last.withLock({ $0 }), now - last.time < .seconds(1) { return last.stores }
        let stores = read()
        last.withLock { $0 = (now, stores) }
        return stores
    }

    private func read() -> [UInt8] {
        let diagnostics = sessions.diagnostics
        var stores = JSONObject()
        stores.add("failures", diagnostics.failures)
        stores.add("droppedFailures", diagnostics.droppedFailures)
        stores.add("slowTurns", diagnostics.slowTurns)
        stores.add("missedObservations", diagnostics.missedObservations)
        stores.add("observerFailures", diagnostics.observerFailures)
        stores.add("runningWork", diagnostics.runningWork)
        return stores.close()
    }
}
