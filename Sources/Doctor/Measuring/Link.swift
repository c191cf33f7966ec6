import AsyncHTTPClient
import NIOCore
import NIOPosix
import NIOSSL

/// Sends requests to one server, over HTTP/2 if it is offered.
struct Link: Sendable {
    /// How much of an answer is read.
    private static let bodyLimit = 4 << 20

    let client: HTTPClient
    let options: DoctorOptions

    /// - Parameter decodes: whether answers in gzip and deflate are decoded.
    /// - Throws: ``Unreachable`` if the file of certificates cannot be read.
    init(_ options: DoctorOptions, decodes: Bool) throws(Unreachable) {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.httpVersion = .automatic
        configuration.timeout.connect = TimeAmount(min(options.answerTime, .seconds(5)))
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        configuration.connectionPool.retryConnectionEstablishment = false
        if decodes { configuration.decompression = .enabled(limit: .size(16 << 20)) }
        if let file = options.authorities {
            do {
                var tls = TLSConfiguration.makeClientConfiguration()
                tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(file))]
                configuration.tlsConfiguration = tls
            } catch {
                throw Unreachable("The certificates in '\(file)' cannot be read; give a file in the form PEM.")
            }
        }
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        self.options = options
    }

    func close() async { try? await client.shutdown() }

    /// Sends one request and waits for its answer, for as long as an answer may take.
    ///
    /// - Parameter server: nil for the address that is examined.
    @discardableResult
    func send(
        _ method: String, _ target: String, _ fields: [(name: String, value: String)] = [], body: [UInt8] = [],
        to server: ServerAddress? = nil
    ) async -> Exchange {
        let request = request(method, target, fields, body: body, to: server ?? options.address)
        let outcome: Exchange? = await within(options.answerTime) { await exchange(request) }
        return outcome ?? .failure("none in \(Readable.time(options.answerTime))")
    }

    /// Opens a stream; it goes on until it is closed.
    func open(_ target: String, _ fields: [(name: String, value: String)]) -> OpenStream {
        let accept = [(name: "Accept", value: "text/event-stream"), (name: "Cache-Control", value: "no-cache")]
        return OpenStream(client, request("GET", target, accept + fields, body: [], to: options.address))
    }

    private func request(
        _ method: String, _ target: String, _ fields: [(name: String, value: String)], body: [UInt8],
        to server: ServerAddress
    ) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: "\(server)\(target)")
        request.method = .init(rawValue: method)
        request.headers.add(name: "User-Agent", value: "mvi-server-doctor")
        for field in options.fields + fields { request.headers.add(name: field.name, value: field.value) }
        if !body.isEmpty {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: body))
        }
        return request
    }

    private func exchange(_ request: HTTPClientRequest) async -> Exchange {
        let clock = ContinuousClock()
        let (start, sent) = (clock.now, WallClock.now)
        do {
            // The task that waits beside this one ends it earlier.
            let response = try await client.execute(request, timeout: .seconds(3_600))
            let received = WallClock.now
            var body: [UInt8] = []
            for try await part in response.body {
                guard body.count + part.readableBytes <= Self.bodyLimit else {
                    return .failure("an answer of more than \(Self.bodyLimit) bytes")
                }
                body += part.readableBytesView
            }
            var answer = Answer(response)
            (answer.body, answer.took, answer.sent, answer.received) = (body, clock.now - start, sent, received)
            return .answer(answer)
        } catch {
            return .failure(Self.words(error))
        }
    }

    /// Why a request failed, in few words.
    static func words(_ error: any Error) -> String {
        switch error {
        case let error as HTTPClientError: return Readable.text(error.shortDescription)
        case is NIOConnectionError: return "no connection: nothing listens there, or the name is not known"
        case let error as IOError where "\(error)".contains("refused"): return "nothing listens there"
        case let error as IOError: return "the connection broke (errno \(error.errnoCode))"
        default: return words("\(error)")
        }
    }

    /// Errors of libraries below the client's, whose types it does not show.
    private static func words(_ text: String) -> String {
        if text.contains("CERTIFICATE_VERIFY_FAILED") { return "its certificate is not one that this machine trusts" }
        if text.hasPrefix("StreamClosed") { return "the stream was reset" }
        return Readable.text(text)
    }
}

extension Answer {
    /// The head of an answer.
    init(_ response: HTTPClientResponse) {
        self.init(
            status: Int(response.status.code), http: response.version.major >= 2 ? "2" : "1.1",
            fields: response.headers.map { ($0.name, $0.value) })
    }
}
