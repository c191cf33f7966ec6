import Locking

@testable import MVIServer

/// Other nodes with scripted answers, in order.
final class ScriptedPeers: PeerTransport {
    /// The reaction of a node to a request.
    typealias Step = @Sendable (PeerRequest) async -> Result<PeerResponse, PeerError>

    private struct State {
        var steps: [Step] = []
        var asked: [(request: PeerRequest, address: String)] = []
        var isClosed = false
    }

    private let state = Lock(State())
    private let last: Step

    /// - Parameter last: the reaction after all steps.
    init(_ steps: [Step] = [], then last: @escaping Step = { _ in .gone }) {
        self.last = last
        state.withLock { $0.steps = steps }
    }

    /// The received requests with their addresses.
    var asked: [(request: PeerRequest, address: String)] { state.withLock { $0.asked } }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    func send(_ request: PeerRequest, to address: String) async throws(PeerError) -> PeerResponse {
        let step = state.withLock { state in
            state.asked.append((request, address))
            return state.steps.isEmpty ? last : state.steps.removeFirst()
        }
        return try await step(request).get()
    }

    func close() async { state.withLock { $0.isClosed = true } }
}

extension Result where Success == PeerResponse, Failure == PeerError {
    /// The node is not reachable.
    static let gone = Result.failure(PeerError(.notSent, "no listener"))
    /// The answer is lost.
    static let lost = Result.failure(PeerError(.unknown, "the connection ended"))
    /// Another node is the owner.
    static let moved = Result.answer(421)

    static func answer(
        _ status: Int, _ fields: [(name: String, value: String)] = [], _ body: String = ""
    ) -> Result {
        .success(PeerResponse(status: status, fields: fields, body: Array(body.utf8)))
    }

    static func problem(_ status: Int, _ name: String) -> Result {
        .answer(
            status, [("Content-Type", "application/problem+json")],
            #"{"type":"/problems/\#(name)","title":"t","status":\#(status),"detail":"d"}"#)
    }
}

/// A server that is called in memory, like a node over a socket.
struct MemoryPeer: PeerTransport {
    let application: Application

    func send(_ request: PeerRequest, to address: String) async throws(PeerError) -> PeerResponse {
        var asked = TestRequest(request.method, request.target, request.fields)
        asked.body = request.body
        do {
            let answer = try await MemoryClient(application: application).exchange(asked)
            return PeerResponse(status: answer.status, fields: answer.fields, body: answer.body)
        } catch {
            throw PeerError(.unknown, "\(error)")
        }
    }

    func close() async {}
}
