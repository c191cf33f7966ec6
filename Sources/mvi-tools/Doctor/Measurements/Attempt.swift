/// A request with its answer or failure.
enum Attempt: Sendable {
    case answer(Answer)
    /// There was no answer, for this reason.
    case failure(String)

    /// The answer; nil after a failure.
    var answer: Answer? {
        if case .answer(let answer) = self { answer } else { nil }
    }

    /// The answer's status; nil after a failure.
    var status: Int? { answer?.status }
}

/// An answer, with its body cut at the limit.
struct Answer: Sendable {
    var status: Int
    /// The HTTP version: `1.1` or `2`.
    var http: String
    var fields: [(name: String, value: String)]
    var body: [UInt8]
    /// The time from the request's first byte to the answer's last.
    var took: Duration
    /// The times since 1970 on this machine when the request was sent and the answer's head arrived.
    var sent: Duration
    var received: Duration

    init(
        status: Int, http: String = "1.1", fields: [(name: String, value: String)] = [], body: [UInt8] = [],
        took: Duration = .zero, sent: Duration = .zero, received: Duration = .zero
    ) {
        (self.status, self.http, self.fields, self.body) = (status, http, fields, body)
        (self.took, self.sent, self.received) = (took, sent, received)
    }

    /// The first value of a field with a name in lower case.
    subscript(_ name: String) -> String? { fields.first { $0.name.lowercased() == name }?.value }

    /// The name at the end of a problem document's `type`; nil for another body.
    var problem: String? {
        guard self["content-type"]?.lowercased().hasPrefix("application/problem+json") == true,
            let type = Wire.read(ProblemDocument.self, body)?.type, type.hasPrefix("/problems/")
        else { return nil }
        return String(type.dropFirst("/problems/".count))
    }
}
