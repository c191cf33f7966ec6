import MVI
import Testing
import WireJSON

/// A store of a client's session: sends intents to it, and reads what the server shows.
public struct ClientStore<F: Feature>: Sendable {
    let client: TestClient
    /// The store's id on the wire, with its key: `catalogue`, `cart:tea`.
    public let id: String

    /// Sends an intent, and returns when the server has committed it. Fails the test if it is rejected.
    ///
    /// - Throws: `RemoteError` if the server does not answer.
    @discardableResult
    public func send(
        _ intent: F.Intent, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> TestAnswer {
        let answer = try await post(intent)
        if answer.status >= 300 {
            Issue.record("The intent \(intent) to \(id) was rejected: \(answer)", sourceLocation: sourceLocation)
        }
        return answer
    }

    /// Sends an intent that must be rejected, with that status and that code. Fails the test otherwise.
    ///
    /// - Parameters:
    ///   - status: of the answer: 403, 404, 409, 422 or 429 for a feature's refusal; nil for any.
    ///   - code: the refusal's; nil for any.
    @discardableResult
    public func sendRejected(
        _ intent: F.Intent, status: Int? = nil, code: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> TestAnswer {
        let answer = try await post(intent)
        let isExpected =
            answer.status >= 400 && answer.status == status ?? answer.status && answer.code == code ?? answer.code
        if !isExpected {
            let expected = [status.map(String.init), code].compactMap(\.self).joined(separator: " ")
            Issue.record(
                "The intent \(intent) to \(id) was to be rejected\(expected.isEmpty ? "" : " with \(expected)"), but it was answered: \(answer)",
                sourceLocation: sourceLocation)
        }
        return answer
    }

    private func post(_ intent: F.Intent) async throws -> TestAnswer {
        try await client.request(
            "POST", "/features/\(id)/intents", body: String(decoding: try WireJSON.encode(intent), as: UTF8.self))
    }

    /// The server's answer to a request for the state: with a status and a code where the client may not see it.
    public func read() async throws -> TestAnswer { try await client.request("GET", "/features/\(id)/state") }

    /// The state that the server shows now.
    ///
    /// - Throws: ``TestServerError`` if it shows none, `RemoteError` if it does not answer.
    public func state() async throws -> F.ViewState {
        let answer = try await read()
        guard answer.status == 200 else { throw TestServerError("The server shows no state of \(id): \(answer)") }
        return try answer.decode(F.ViewState.self)
    }

    /// Opens a stream of this store.
    public func events() async throws -> ClientEvents { try await client.events(of: id) }
}
