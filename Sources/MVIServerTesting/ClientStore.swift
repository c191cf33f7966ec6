import MVI
import Testing
import WireJSON

/// A store of a client's session: sends intents and reads its state.
public struct ClientStore<F: Feature>: Sendable {
    let client: TestClient
    /// The store's id on the wire, with its key: `catalogue`, `cart:tea`.
    public let id: String

    /// Sends an intent and returns after the server has committed it. Fails the test if it is refused.
    ///
    /// - Throws: `RemoteError` if the server does not answer.
    @discardableResult
    public func send(
        _ intent: F.Intent, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> TestAnswer {
        let answer = try await post(intent)
        if answer.status >= 300 {
            Issue.record("The intent \(intent) to \(id) was refused: \(answer)", sourceLocation: sourceLocation)
        }
        return answer
    }

    /// Sends an intent that the server must refuse with a status and a code. Fails the test otherwise.
    ///
    /// - Parameters:
    ///   - status: the answer's status: 403, 404, 409, 422 or 429 for a feature's refusal; nil for any.
    ///   - code: the refusal's code; nil for any.
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
                "The intent \(intent) to \(id) should be refused\(expected.isEmpty ? "" : " with \(expected)"), but the answer was: \(answer)",
                sourceLocation: sourceLocation)
        }
        return answer
    }

    private func post(_ intent: F.Intent) async throws -> TestAnswer {
        try await client.request(
            "POST", "/features/\(id)/intents", body: String(decoding: try WireJSON.encode(intent), as: UTF8.self))
    }

    /// Returns the server's answer to a request for the state, which is a refusal if the client has no access.
    public func read() async throws -> TestAnswer { try await client.request("GET", "/features/\(id)/state") }

    /// Returns the server's current state.
    ///
    /// - Throws: ``TestServerError`` for another answer, `RemoteError` if the server does not answer.
    public func state() async throws -> F.ViewState {
        let answer = try await read()
        guard answer.status == 200 else { throw TestServerError("The server returned no state of \(id): \(answer)") }
        return try answer.decode(F.ViewState.self)
    }

    /// Opens a stream of this store.
    public func events() async throws -> ClientEvents { try await client.events(of: id) }
}
