#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

import AsyncHTTPClient
import MVIServer
import NIOCore
import NIOPosix

/// Carries requests between nodes over HTTP/1.1, on connections that are kept for the next ones.
///
/// ```swift
/// try await FeatureServer(journal: journal, peers: HTTPPeerTransport()) { Counter() }.run()
/// ```
public final class HTTPPeerTransport: PeerTransport {
    private let client: HTTPClient

    /// - Parameters:
    ///   - connections: how many to one node at once; further requests wait, and their time runs.
    ///   - connectTime: how long a connection may take to be there. A node that is gone without a word costs so much.
    ///   - idleTime: how long a connection is kept without a request: less than the nodes' `--idle-timeout`, so that no request
    ///     meets its end.
    public init(
        connections: Int = 256, connectTime: Duration = .seconds(1), idleTime: Duration = .seconds(10)
    ) {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.httpVersion = .http1Only
        configuration.timeout.connect = TimeAmount(connectTime)
        configuration.connectionPool.idleTimeout = TimeAmount(idleTime)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
        // Who asks decides whether to try again.
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    public func send(_ request: PeerRequest, to address: String) async throws(PeerError) -> PeerResponse {
        let first = await withTaskGroup(of: Result<PeerResponse, PeerError>.self) { [client] group in
            group.addTask { await Self.exchange(request, address, client) }
            group.addTask {
                try? await Task.sleep(for: request.timeout)
                return .failure(PeerError(.unknown, "the answer took longer than \(request.timeout)"))
            }
            defer { group.cancelAll() }
            return await group.next()
        }
        guard let first else { throw PeerError(.notSent, "the request did not begin") }
        return try first.get()
    }

    // Where a server does not start, it is not closed.
    deinit {
        Task { [client] in try? await client.shutdown() }
    }

    public func close() async { try? await client.shutdown() }

    private static func exchange(
        _ request: PeerRequest, _ address: String, _ client: HTTPClient
    ) async -> Result<PeerResponse, PeerError> {
        var outgoing = HTTPClientRequest(url: "http://\(address)\(request.target)")
        outgoing.method = .init(rawValue: request.method)
        for field in request.fields { outgoing.headers.add(name: field.name, value: field.value) }
        if !request.body.isEmpty { outgoing.body = .bytes(ByteBuffer(bytes: request.body)) }
        do {
            // The task that waits beside this one ends it earlier.
            let answer = try await client.execute(outgoing, timeout: TimeAmount(request.timeout + .seconds(1)))
            var body: [UInt8] = []
            for try await part in answer.body {
                guard body.count + part.readableBytes <= request.longestAnswer else {
                    return .failure(
                        PeerError(.unknown, "the answer has more than \(request.longestAnswer) bytes"))
                }
                body += part.readableBytesView
            }
            return .success(
                PeerResponse(
                    status: Int(answer.status.code), fields: answer.headers.map { ($0.name, $0.value) }, body: body))
        } catch {
            return .failure(
                PeerError(wasSent(error) ? .unknown : .notSent, "the request failed: \("\(error)".prefix(300))"))
        }
    }

    /// Whether a request that failed may have reached the node.
    private static func wasSent(_ error: any Error) -> Bool {
        switch error {
        // No such host, or none of its addresses answers.
        case is NIOConnectionError, ChannelError.connectTimeout: return false
        // No process listens at the address. A connection that was there has other errors.
        case let error as IOError: return error.errnoCode != ECONNREFUSED
        case let error as HTTPClientError:
            let before: [HTTPClientError] = [
                .connectTimeout, .getConnectionFromPoolTimeout, .invalidURL, .emptyHost, .alreadyShutdown,
            ]
            return !before.contains(error)
        default: return true
        }
    }
}
