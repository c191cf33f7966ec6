/// The error of an intent that failed, or whose result is unknown.
public struct RemoteError: Error, Sendable, Equatable {
    /// The kinds of failures.
    public struct Code: Sendable, Hashable {
        let name: String

        /// The server refused the intent; see ``RemoteError/problem``. Nothing of it was kept.
        public static let refused = Code(name: "refused")
        /// The intent's patience ended before the server answered.
        public static let gaveUp = Code(name: "gaveUp")
        /// Too many intents are waiting, so this one was not enqueued.
        public static let queueFull = Code(name: "queueFull")
        /// The intent's session ended before the answer, or now belongs to another user.
        public static let sessionEnded = Code(name: "sessionEnded")
        /// The server requires an identity, and there is none.
        public static let signedOut = Code(name: "signedOut")
        /// ``RemoteServer/close()`` was called.
        public static let closed = Code(name: "closed")
        /// The intent cannot be written as JSON.
        public static let notEncodable = Code(name: "notEncodable")
        /// The app's type cannot read the store's state, since the app is older than the server. The message names the
        /// member or case.
        public static let outdated = Code(name: "outdated")
        /// The store's id can be none, for instance because its key is from a link. Nothing was sent.
        public static let invalidFeature = Code(name: "invalidFeature")
    }

    /// The kind of failure.
    public var code: Code
    /// The server's answer, if there was one.
    public var problem: ServerProblem?
    /// True if the server may have run the intent: it was sent, but no answer settled it.
    public var mayHaveRun: Bool
    /// A description with advice, for people and logs.
    public var message: String

    /// Creates an error, for instance in an app's previews and tests.
    public init(_ code: Code, _ message: String, problem: ServerProblem? = nil, mayHaveRun: Bool = false) {
        self.code = code
        self.problem = problem
        self.mayHaveRun = mayHaveRun
        self.message = message
    }
}

extension RemoteError: CustomStringConvertible {
    /// The code, message and problem in one line.
    public var description: String {
        "\(code.name): \(message)" + (problem.map { " (\($0))" } ?? "")
            + (mayHaveRun ? " The server may have run the intent." : "")
    }
}
