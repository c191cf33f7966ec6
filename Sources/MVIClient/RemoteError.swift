/// The reason for which an intent was not carried out, as far as the client knows.
public struct RemoteError: Error, Sendable, Equatable {
    /// The kinds of failures.
    public struct Code: Sendable, Hashable {
        let name: String

        /// The server refused the intent: ``RemoteError/problem`` says why. Nothing of it was kept.
        public static let refused = Code(name: "refused")
        /// The intent's patience ended before the server answered.
        public static let gaveUp = Code(name: "gaveUp")
        /// As many intents wait as may: this one was not enqueued.
        public static let queueFull = Code(name: "queueFull")
        /// The session that the intent was meant for ended before it was answered, or is another user's now.
        public static let sessionEnded = Code(name: "sessionEnded")
        /// The server wants an identity and there is none.
        public static let signedOut = Code(name: "signedOut")
        /// ``RemoteServer/close()`` was called.
        public static let closed = Code(name: "closed")
        /// The intent cannot be written as JSON.
        public static let notEncodable = Code(name: "notEncodable")
    }

    /// The kind of failure.
    public var code: Code
    /// The server's answer, where there was one.
    public var problem: ServerProblem?
    /// True if the server may have run the intent all the same: it was sent, and no answer told.
    public var mayHaveRun: Bool
    /// The failure and its remedy, for people and logs.
    public var message: String

    /// An error of its parts, for instance in an app's previews and tests.
    public init(_ code: Code, _ message: String, problem: ServerProblem? = nil, mayHaveRun: Bool = false) {
        self.code = code
        self.problem = problem
        self.mayHaveRun = mayHaveRun
        self.message = message
    }
}

extension RemoteError: CustomStringConvertible {
    /// Code, message and problem in one line.
    public var description: String {
        "\(code.name): \(message)" + (problem.map { " (\($0))" } ?? "")
            + (mayHaveRun ? " The server may have run the intent." : "")
    }
}
