import LibCurl

/// The address of a server's metrics.
struct MetricsAddress: Sendable, Equatable {
    /// The requested URL.
    let url: String
    /// The address for people, without the path.
    let shown: String

    /// Creates an address from a person's text, with or without scheme and path. Nil if it is not an HTTP address.
    init?(_ text: String) {
        let full = text.contains("://") ? text : "http://\(text)"
        guard full.hasPrefix("http://") || full.hasPrefix("https://"), !full.contains(where: \.isWhitespace) else {
            return nil
        }
        let rest = full.drop { $0 != "/" }.dropFirst(2)
        let host = rest.prefix { !"/?#".contains($0) }
        // A password would be printed.
        guard !host.isEmpty, !host.contains("@") else { return nil }
        shown = String(full.prefix(full.count - rest.count)) + host
        let path = rest.dropFirst(host.count).prefix { !"?#".contains($0) }
        url = path.isEmpty || path == "/" ? shown + "/metrics" : shown + path
    }
}

/// An error of reading metrics, for people.
struct MetricsFailure: Error, Equatable {
    /// The text after "did not answer:".
    let reason: String
}

/// Reads a server's metrics.
struct MetricsClient: Sendable {
    /// The maximal size of an answer; a server with hundreds of features sends some hundred thousand bytes.
    private static let longestAnswer = 16 * 1024 * 1024
    private static let client = CurlClient()

    let address: MetricsAddress
    private let token: String?
    private let patience: Duration

    /// - Parameter patience: the timeout of an answer.
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

    /// Reads the metrics and records the result.
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
            case 403: "without an admin token it answers only programs on its own machine"
            case 404: "there are no metrics; give its admin address"
            default: "see its log"
            }
        return MetricsFailure(reason: "the status is \(status); \(hint)")
    }

    private static func reason(_ failure: CurlFailure) -> String {
        switch failure.reason {
        case .tookTooLong: "the request timed out"
        case .noConnection, .unknownHost: "the connection failed"
        default: failure.description
        }
    }
}
