import Locking

#if canImport(FoundationNetworking)
    // FoundationNetworking imports Foundation anyway.
    import FoundationEssentials
    import FoundationNetworking
    import class Foundation.NSObject
    import struct Foundation.URLError
#else
    import Foundation
#endif

/// Sends requests with `URLSession`. Streams are read by its delegate, since `bytes(for:)` is not available on all
/// systems.
final class URLSessionTransport: Transport {
    private let base: String
    private let delegate: SessionDelegate
    private let session: URLSession

    /// - Parameter base: the server's URL; paths are appended to its path.
    init(base: URL) {
        self.base = String(base.absoluteString.reversed().drop { $0 == "/" }.reversed())
        delegate = SessionDelegate()
        session = Self.session(delegate)
    }

    private static func session(_ delegate: SessionDelegate) -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        // The client detects silence itself. This limit is only for requests that nothing else ends.
        configuration.timeoutIntervalForRequest = 3_600
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.httpCookieStorage = nil
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    func start(_ id: ExchangeID, _ request: HTTPRequest, told: @escaping @Sendable (TransportEvent) -> Void) {
        guard let url = URL(string: base + request.target) else {
            return told(.end(TransportFailure(mayHaveReached: false, message: "The server's URL is invalid.")))
        }
        var urlRequest = URLRequest(url: url)
        urlRequest.httpMethod = request.method
        for field in request.fields { urlRequest.setValue(field.value, forHTTPHeaderField: field.name) }
        if !request.body.isEmpty { urlRequest.httpBody = Data(request.body) }
        #if canImport(FoundationNetworking)
            // If the server resets a reused connection, libcurl sends the request again on a new one, but
            // FoundationNetworking does not supply the body again, and both sides wait for each other. So a request
            // with a body has its own session, and thus its own connection.
            let session = request.body.isEmpty ? session : Self.session(delegate)
            defer { if !request.body.isEmpty { session.finishTasksAndInvalidate() } }
        #endif
        let task = session.dataTask(with: urlRequest)
        delegate.add(task, id: id, told: told)
        task.resume()
    }

    func cut(_ id: ExchangeID) { delegate.remove(id)?.cancel() }

    func close() {
        delegate.cancelAll()
        session.invalidateAndCancel()
    }
}

/// Receives the events of `URLSession` tasks on the session's serial queue, and passes them to their owners.
private final class SessionDelegate: NSObject, URLSessionDataDelegate, Sendable {
    private struct Owner: Sendable {
        let id: ExchangeID
        let task: URLSessionDataTask
        let told: @Sendable (TransportEvent) -> Void
    }

    /// The owners by task. A task lives as long as its entry.
    private let owners = Lock<[ObjectIdentifier: Owner]>([:])

    func add(_ task: URLSessionDataTask, id: ExchangeID, told: @escaping @Sendable (TransportEvent) -> Void) {
        owners.withLock { $0[ObjectIdentifier(task)] = Owner(id: id, task: task, told: told) }
    }

    func remove(_ id: ExchangeID) -> URLSessionDataTask? {
        owners.withLock { owners in
            guard let (key, owner) = owners.first(where: { $0.value.id == id }) else { return nil }
            owners[key] = nil
            return owner.task
        }
    }

    func cancelAll() {
        let all = owners.withLock { owners in
            defer { owners = [:] }
            return owners.values.map(\.task)
        }
        for task in all { task.cancel() }
    }

    private func tell(_ task: URLSessionTask, _ event: TransportEvent) {
        let key = ObjectIdentifier(task)
        owners.withLock { $0[key] }?.told(event)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if let response = response as? HTTPURLResponse {
            var fields: [String: String] = [:]
            for case (let name as String, let value as String) in response.allHeaderFields {
                fields[name.lowercased()] = value
            }
            let retryAfter = RetryAfter.delay(in: fields, secondsSince1970: Date().timeIntervalSince1970)
            tell(dataTask, .head(HTTPAnswer(status: response.statusCode, fields: fields, retryAfter: retryAfter)))
        }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        tell(dataTask, .bytes(Array(data)))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let key = ObjectIdentifier(task)
        let owner = owners.withLock { $0.removeValue(forKey: key) }
        owner?.told(.end(error.map { Self.failure($0) }))
    }

    /// Returns redirects as answers, since another server must not receive credentials or intents.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    private static func failure(_ error: any Error) -> TransportFailure {
        let unreached: [URLError.Code] = [
            .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed, .notConnectedToInternet, .secureConnectionFailed,
            .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateNotYetValid,
        ]
        let isUnreached = (error as? URLError).map { unreached.contains($0.code) } ?? false
        return TransportFailure(mayHaveReached: !isUnreached, message: "\(error)")
    }
}
