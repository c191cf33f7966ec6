import WireJSON

/// A refusal as the server described it (RFC 9457): its status and its problem document.
public struct ServerProblem: Error, Sendable, Hashable {
    /// The status of the HTTP answer.
    public var status: Int
    /// The problem's type, such as `/problems/intent-conflict`; nil where the answer had no problem document, for
    /// instance that of a proxy.
    public var type: String?
    /// The type in words.
    public var title: String?
    /// The description for people.
    public var detail: String?
    /// The name that the feature's author gave to the refusal, if any: switch over this.
    public var code: String?
    /// The faulty members of the intent, if the server named them.
    public var errors: [Part]

    /// A part of the request that the problem is about.
    public struct Part: Sendable, Hashable, Decodable {
        /// A JSON Pointer into the intent (RFC 6901), such as `/amount`.
        public var pointer: String
        /// The fault, for people.
        public var detail: String
    }

    /// A problem of its parts, for instance in an app's previews and tests.
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

    /// The problem in an answer; without a document where the body is none.
    init(_ answer: HTTPAnswer) {
        let document = answer.hasProblem ? try? WireJSON.decode(Document.self, from: answer.body) : nil
        self.init(
            status: answer.status, type: document?.type, title: document?.title, detail: document?.detail,
            code: document?.code, errors: document?.errors ?? [])
    }
}

extension ServerProblem: CustomStringConvertible {
    /// Status, type and detail in one line, for a log.
    public var description: String {
        ["\(status)", type, detail ?? title].compactMap(\.self).joined(separator: " ")
    }
}
