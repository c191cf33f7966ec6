import WireJSON

/// A refusal by the server (RFC 9457): its status and its problem document.
public struct ServerProblem: Error, Sendable, Hashable {
    /// The status of the HTTP answer.
    public var status: Int
    /// The problem's type, such as `/problems/intent-conflict`; nil if the answer has no problem document, for instance
    /// that of a proxy.
    public var type: String?
    /// The title of the type.
    public var title: String?
    /// The description for people.
    public var detail: String?
    /// The code that the feature's author gave to the refusal, if any.
    public var code: String?
    /// The affected members of the intent, if the server named them.
    public var errors: [Part]

    /// A part of the request that the problem concerns.
    public struct Part: Sendable, Hashable, Decodable {
        /// A JSON Pointer into the intent (RFC 6901), such as `/amount`.
        public var pointer: String
        /// The description for people.
        public var detail: String
    }

    /// Creates a problem, for instance in an app's previews and tests.
    public init(
        status: Int, type: String? = nil, title: String? = nil, detail: String? = nil, code: String? = nil,
        errors: [Part] = []
    ) {
        self.status = status
        self.type = type
        self.title = title
        self.detail = detail
        self.code = code
        self.errors = errors
    }

    /// The last part of ``type``: `intent-conflict`.
    var name: String? { type?.split(separator: "/").last.map(String.init) }
}

extension ServerProblem {
    private struct Document: Decodable {
        var type: String?
        var title: String?
        var detail: String?
        var code: String?
        var errors: [Part]?
    }

    /// Reads the problem of an answer; without a problem document, only the status is set.
    init(_ answer: HTTPAnswer) {
        let document = answer.hasProblem ? try? WireJSON.decode(Document.self, from: answer.body) : nil
        self.init(
            status: answer.status, type: document?.type, title: document?.title, detail: document?.detail,
            code: document?.code, errors: document?.errors ?? [])
    }
}

extension ServerProblem: CustomStringConvertible {
    /// The status, type and detail in one line, for logs.
    public var description: String {
        ["\(status)", type, detail ?? title].compactMap(\.self).joined(separator: " ")
    }
}
