import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import Sessions
import Top

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Where a server's metrics are.
struct MetricsAddress: Sendable, Equatable {
    /// What is asked.
    let url: String
    /// What a person is shown: without the path.
    let shown: String

    /// From what a person wrote: with or without scheme and path. Nil for no address of HTTP.
    init?(_ text: String) {
        let full = text.contains("://") ? text : "http://\(text)"
        guard full.hasPrefix("http://") || full.hasPrefix("https://"), !full.contains(where: \.isWhitespace) else {
            return nil
        }
        let rest = full.drop { $0 != "/" }.dropFirst(2)
        let host = rest.prefix { !"/?#".contains($0) }
        // A password would be shown.
        guard !host.isEmpty, !host.contains("@") else { return nil }
        shown = String(full.prefix(full.count - rest.count)) + host
        let path = rest.dropFirst(host.count).prefix { !"?#".contains($0) }
        url = path.isEmpty || path == "/" ? shown + "/metrics" : shown + path
    }
}

/// Why there are no metrics, for a person.
struct MetricsFailure: Error, Equatable {
    /// What goes on after "did not answer:".
    let reason: String
}

/// Asks a server for its metrics.
struct MetricsClient: Sendable {
    /// Bytes of an answer: that of a server with hundreds of features has some hundred thousand.
    private static let longestAnswer = 16 * 1024 * 1024
    /// A person is told at once that nothing listens; the next look tries again.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    let address: MetricsAddress
    private let token: String?
    private let patience: Duration

    /// - Parameter patience: how long an answer may take.
    init(_ address: MetricsAddress, token: String?, patience: Duration) {
        (self.address, self.token, self.patience) = (address, token, patience)
    }

    func read() async throws(MetricsFailure) -> Metrics {
        var request = HTTPClientRequest(url: address.url)
        if let token { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
        let text: String
        do {
            let milliseconds = Int64(patience / .milliseconds(1))
            let answer = try await Self.client.execute(request, timeout: .milliseconds(milliseconds))
            guard answer.status == .ok else { throw Self.failure(answer.status) }
            text = String(buffer: try await answer.body.collect(upTo: Self.longestAnswer))
        } catch let failure as MetricsFailure {
            throw failure
        } catch {
            throw MetricsFailure(reason: Self.reason(error))
        }
        return Metrics(MetricsText.read(text), time: Self.now())
    }

    /// Asks, and notes what came of it.
    func ask(_ watch: inout Watch) async {
        do throws(MetricsFailure) { watch.took(try await read()) } catch {
            watch.failed(error.reason, time: Self.now())
        }
    }

    /// Seconds since 1970.
    static func now() -> Double { TimeSource.system.sinceEpoch() / .seconds(1) }

    static func failure(_ status: HTTPResponseStatus) -> MetricsFailure {
        let hint =
            switch status.code {
            case 401: "give the server's admin token with --token or MVI_ADMIN_TOKEN"
            case 403: "without an admin token it answers programs on its own machine only"
            case 404: "it has no metrics there; give its admin address"
            default: "its log may say why"
            }
        return MetricsFailure(reason: "the status is \(status.code); \(hint)")
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as HTTPClientError where error == .connectTimeout || error == .deadlineExceeded:
            "it took too long"
        case is NIOConnectionError: "nothing listens there"
        // Where the refusal comes while the connection is being set up.
        case let error as IOError where error.errnoCode == ECONNREFUSED: "nothing listens there"
        default: String("\(error)".prefix(200))
        }
    }
}
