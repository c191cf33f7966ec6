import MicroHTTP
import Sessions

/// `/health/live` and `/health/ready`.
struct HealthOperations: Sendable {
    let sessions: SessionTable

    /// The process answers.
    func live(_ reply: Reply) {
        reply.answer(
            Response(
                status: 200, fields: AnswerFields.momentaryJSON, body: .bytes(Array(#"{"status":"live"}"#.utf8))))
    }

    /// New work may be sent here: not while the server stops, and not while nothing can be kept.
    func ready(_ reply: Reply) {
        guard !sessions.isDraining else {
            return reply.refuse(Problem(.draining, "The server is stopping.", retryAfter: .seconds(2)))
        }
        guard sessions.environment.journal.trouble == nil else {
            return reply.refuse(
                Problem(.notReady, "What sessions are kept in cannot be written now.", retryAfter: .seconds(5)))
        }
        var answer = JSONObject()
        answer.add("status", "ready")
        answer.add("stores", json: stores())
        reply.answer(Response(status: 200, fields: AnswerFields.momentaryJSON, body: .bytes(answer.close())))
    }

    /// What the stores in memory tell of their condition, together.
    private func stores() -> [UInt8] {
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
