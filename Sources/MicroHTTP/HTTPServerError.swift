/// Why a server did not start.
public struct HTTPServerError: Error, CustomStringConvertible, Sendable {
    /// The kind of failure. More may come.
    public struct Code: Hashable, Sendable {
        private enum Value { case invalidConfiguration, addressInUse, cannotListen, cannotHandOver, alreadyStarted }
        private let value: Value

        /// A field of the configuration cannot be used.
        public static let invalidConfiguration = Code(value: .invalidConfiguration)
        /// Another process listens there.
        public static let addressInUse = Code(value: .addressInUse)
        /// The system refused the socket, or the library refused to start.
        public static let cannotListen = Code(value: .cannotListen)
        /// This libmicrohttpd does not let a handed-over socket live.
        public static let cannotHandOver = Code(value: .cannotHandOver)
        /// `start` was called before.
        public static let alreadyStarted = Code(value: .alreadyStarted)
    }

    /// The kind of failure.
    public let code: Code

    /// What happened, what was expected and what to do about it, for a person.
    public let message: String

    /// The message.
    public var description: String { message }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
