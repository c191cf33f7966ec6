/// A request, and what became of it.
enum Attempt: Sendable {
    case answer(Answer)
    /// There was no answer: why not.
    case failure(String)

    /// The answer if there was one.
    var answer: Answer? {
        if case .answer(let answer) = self { answer } else { nil }
    }

    /// The answer's status if there was one.
    var status: Int? { answer?.status }
}

/// An answer, without what is beyond the bound of its body.
struct Answer: Sendable {
    var status: Int
    /// `1.1` or `2`.
    var http: String
    var fields: [(name: String, value: String)]
    var body: [UInt8]
    /// From the request's first byte to the answer's last.
    var took: Duration
    /// The time since 1970 on this machine when the request was sent, and when the answer's head was there.
    var sent: Duration
    var received: Duration

    init(
        status: Int, http: String = "1.1", fields: [(name: String, value: String)] = [], body: [UInt8] = [],
        took: Duration = .zero, sent: Duration = .zero, received: Duration = .zero
    ) {
        (self.status, self.http, self.fields, self.body) = (status, http, fields, body)
        (self.took, self.sent, self.received) = (took, sent, received)
    }

    /// The first value of a field; its name in lower case.
    subscript(_ name: String) -> String? { fields.first { $0.name.lowercased() == name }?.value }

    /// The name at the end of a problem document's `type`; nil where the body is no problem document.
    var problem: String? {
        guard self["content-type"]?.lowercased().hasPrefix("application/problem+json") == true,
            let type = Wire.read(ProblemDocument.self, body)?.type, type.hasPrefix("/problems/")
        else { return nil }
        return String(type.dropFirst("/problems/".count))
    }
}
