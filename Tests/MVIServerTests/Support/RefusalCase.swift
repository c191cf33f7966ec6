import MVITesting
import Testing

@testable import MVIServer

/// A refusal: the server, the request and the expected answer.
struct RefusalCase: Sendable, CustomTestStringConvertible {
    let operation: String
    let type: ProblemType
    /// The cause, as the end of "… is refused when".
    let when: String
    var settings: @Sendable (inout ServerSettings) -> Void = { _ in }
    var authenticator: (any Authenticator)?
    var content: @Sendable (Gate) throws -> ServerContent = { TestServer.probes($0) }
    let ask: @Sendable (TestServer) async throws -> TestResponse

    var testDescription: String { "\(operation): \(type.status) \(type.name) when \(when)" }

    init(
        _ operation: String, _ type: ProblemType, when: String,
        settings: @escaping @Sendable (inout ServerSettings) -> Void = { _ in },
        authenticator: (any Authenticator)? = nil,
        content: @escaping @Sendable (Gate) throws -> ServerContent = { TestServer.probes($0) },
        ask: @escaping @Sendable (TestServer) async throws -> TestResponse
    ) {
        self.operation = operation
        self.type = type
        self.when = when
        self.settings = settings
        self.authenticator = authenticator
        self.content = content
        self.ask = ask
    }

    static let unknownToken = "Bearer \(String(repeating: "A", count: 43))"
    static let json = (name: "Content-Type", value: "application/json")
}
