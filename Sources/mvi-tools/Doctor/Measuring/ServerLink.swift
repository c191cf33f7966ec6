import LibCurl

/// Sends requests to one server, over HTTP/2 if it is offered.
struct ServerLink: Sendable {
    /// The maximal size of an answer.
    private static let bodyLimit = 4 << 20

    let client = CurlClient()
    let options: DoctorOptions
    /// True if gzip and deflate are decoded.
    let decodes: Bool

    init(_ options: DoctorOptions, decodes: Bool) { (self.options, self.decodes) = (options, decodes) }

    func close() { client.close() }

    /// Sends a request and returns its answer or a timeout.
    ///
    /// - Parameters:
    ///   - server: nil for the examined address.
    ///   - expectsContinue: true to send the body only if the head is not refused, over HTTP/1.1.
    @discardableResult
    func send(
        _ method: String, _ target: String, _ fields: [(name: String, value: String)] = [], body: [UInt8] = [],
        to server: ServerAddress? = nil, expectsContinue: Bool = false
    ) async -> Attempt {
        let request = request(method, target, fields, body: body, to: server ?? options.address, expectsContinue)
        let outcome: Attempt? = await within(options.answerTime) { await exchange(request) }
        return outcome ?? .failure("none in \(Readable.time(options.answerTime))")
    }

    /// Opens a stream, which stays open until it is closed.
    func open(_ target: String, _ fields: [(name: String, value: String)]) -> OpenStream {
        let accept = [(name: "Accept", value: "text/event-stream"), (name: "Cache-Control", value: "no-cache")]
        return OpenStream(client, request("GET", target, accept + fields, body: [], to: options.address))
    }

    private func request(
        _ method: String, _ target: String, _ fields: [(name: String, value: String)], body: [UInt8],
        to server: ServerAddress, _ expectsContinue: Bool = false
    ) -> CurlRequest {
        var request = CurlRequest(
            method, "\(server)\(target)", fields: [("User-Agent", "mvi-server-doctor")] + options.fields + fields,
            body: body)
        if !body.isEmpty { request.fields.append(("Content-Type", "application/json")) }
        request.version = expectsContinue ? .http1 : .newest
        request.expectsContinue = expectsContinue
        request.connectTime = min(options.answerTime, .seconds(5))
        request.decodes = decodes
        request.authorities = options.authorities
        return request
    }

    private func exchange(_ request: CurlRequest) async -> Attempt {
        let clock = ContinuousClock()
        let (start, sent) = (clock.now, WallClock.now)
        do throws(CurlFailure) {
            // The concurrent task ends it earlier.
            let whole = try await client.send(request, longest: Self.bodyLimit)
            var answer = Answer(whole.head)
            (answer.body, answer.took, answer.sent, answer.received) = (
                whole.body, clock.now - start, sent, WallClock.now
            )
            return .answer(answer)
        } catch {
            return .failure(Self.words(error))
        }
    }

    /// A short reason for a failed request.
    static func words(_ failure: CurlFailure) -> String {
        switch failure.reason {
        case .noConnection: "no connection"
        case .unknownHost: "no connection: the name is unknown"
        case .badAuthorities:
            "the certificates in the file of --certificate cannot be read; give a PEM file"
        case .tooLong: "an answer of more than \(bodyLimit) bytes"
        default: Readable.text(failure.description)
        }
    }
}

extension Answer {
    /// The head of an answer.
    init(_ head: CurlHead) {
        self.init(status: head.status, http: head.version.hasPrefix("2") ? "2" : "1.1", fields: head.fields)
    }
}
