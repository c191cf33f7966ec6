import LibCurl

/// The address of a server's metrics.
struct MetricsAddress: Sendable, Equatable {
    /// The requested URL.
    let url: String
    /// The displayed URL, without the path.
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

/// The reason for having no metrics, for a person.
struct MetricsFailure: Error, Equatable {
    /// The text after "did not answer:".
    let reason: String
}

/// Asks a server for its metrics.
struct MetricsClient: Sendable {
    /// Bytes of an answer: that of a server with hundreds of features has some hundred thousand.
    private static let longestAnswer = 16 * 1024 * 1024
    private static let client = CurlClient()

    let address: MetricsAddress
    private let token: String?
    private let patience: Duration

    /// - Parameter patience: how long an answer may take.
    init(_ address: MetricsAddress, token: String?, patience: Duration) {
        (self.address, self.token, self.patience) = (address, token, patience)
    }

    func read() async throws(MetricsFailure) -> Metrics {
        var request = CurlRequest("GET", address.url, time: patience)
        if let token { request.fields.append(("Authorization", "Bearer \(token)")) }
        let answer: CurlAnswer
        do throws(CurlFailure) {
            answer = try await Self.client.send(request, longest: Self.longestAnswer)
        } catch {
            throw MetricsFailure(reason: Self.reason(error))
        }
        guard answer.head.status == 200 else { throw Self.failure(answer.head.status) }
        return Metrics(MetricsText.read(String(decoding: answer.body, as: UTF8.self)), time: Self.now())
    }

    /// Asks, and notes what came of it.
    func ask(_ watch: inout Watch) async {
        do throws(MetricsFailure) { watch.took(try await read()) } catch {
            watch.failed(error.reason, time: Self.now())
        }
    }

    /// Seconds since 1970.
    static func now() -> Double { WallClock.now / .seconds(1) }

    static func failure(_ status: Int) -> MetricsFailure {
        let hint =
            switch status {
            case 401: "give the server's admin token with --token or MVI_ADMIN_TOKEN"
            case 403: "without an admin token it answers programs on its own machine only"
            case 404: "it has no metrics there; give its admin address"
            default: "its log may say why"
            }
        return MetricsFailure(reason: "the status is \(status); \(hint)")
    }

    private static func reason(_ failure: CurlFailure) -> String {
        switch failure.reason {
        case .tookTooLong: "it took too long"
        case .noConnection, .unknownHost: "nothing listens there"
        default: failure.description
        }
    }
}
