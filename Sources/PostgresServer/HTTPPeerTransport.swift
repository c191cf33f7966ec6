import LibCurl
import MVIServer

/// Carries requests between nodes over HTTP/1.1, on connections that are kept for further requests.
///
/// ```swift
/// try await FeatureServer(journal: journal, peers: HTTPPeerTransport()) { Counter() }.run()
/// ```
public final class HTTPPeerTransport: PeerTransport {
    private let client: CurlClient
    private let connectTime: Duration

    /// - Parameters:
    ///   - connections: The largest number of connections to one node. Further requests wait within their time limits.
    ///   - connectTime: The time limit for connecting, which is the cost of a silently lost node.
    ///   - idleTime: The time for which an idle connection is kept, in whole seconds. It must be less than the nodes'
    ///     `--idle-timeout`, so that no request meets a closing connection.
    public init(
        connections: Int = 256, connectTime: Duration = .seconds(1), idleTime: Duration = .seconds(10)
    ) {
        client = CurlClient(connections: connections, idleTime: idleTime)
        self.connectTime = connectTime
    }

    public func send(_ request: PeerRequest, to address: String) async throws(PeerError) -> PeerResponse {
        var outgoing = CurlRequest(
            request.method, "http://\(address)\(request.target)", fields: request.fields, body: request.body,
            time: request.timeout)
        outgoing.connectTime = connectTime
        do throws(CurlFailure) {
            let answer = try await client.send(outgoing, longest: request.longestAnswer)
            return PeerResponse(status: answer.head.status, fields: answer.head.fields, body: answer.body)
        } catch {
            let text =
                switch error.reason {
                case .tookTooLong: "the answer took longer than \(request.timeout)"
                case .tooLong: "the answer has more than \(request.longestAnswer) bytes"
                default: "the request failed: \(error.description)"
                }
            throw PeerError(error.mayHaveArrived ? .unknown : .notSent, text)
        }
    }

    public func close() async { client.close() }
}
