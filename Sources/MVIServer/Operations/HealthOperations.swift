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
        reply.answer(
            Response(
                status: 200, fields: AnswerFields.momentaryJSON, body: .bytes(Array(#"{"status":"ready"}"#.utf8))))
    }
}
