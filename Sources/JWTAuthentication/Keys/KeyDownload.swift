import AsyncHTTPClient
import Logging

/// One download of a key set: no redirects, bounded in time and in bytes.
struct KeyDownload: Sendable {
    /// From the beginning to the last byte, the look-up of the name included.
    var timeout: Duration = .seconds(5)

    /// The content at an address.
    func callAsFunction(_ address: String) async throws(KeyReadError) -> [UInt8] {
        let first = await withTaskGroup(of: Result<[UInt8], KeyReadError>.self) { group in
            group.addTask { await Self.download(address) }
            group.addTask {
                try? await Task.sleep(for: timeout)
                return .failure(KeyReadError("the download took longer than \(timeout)"))
            }
            defer { group.cancelAll() }
            return await group.next()
        }
        guard let first else { throw KeyReadError("the download did not begin") }
        return try first.get()
    }

    private static func download(_ address: String) async -> Result<[UInt8], KeyReadError> {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        // The cache decides when to try again.
        configuration.connectionPool.retryConnectionEstablishment = false
        // A client for each download, every few minutes: no connection and no address outlives its use.
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        // Not waited for: it closes what a slow server holds.
        defer { Task { try? await client.shutdown() } }
        do {
            return .success(try await content(address, client))
        } catch let error as KeyReadError {
            return .failure(error)
        } catch {
            return .failure(KeyReadError("the download failed: \("\(error)".prefix(300))"))
        }
    }

    private static func content(_ address: String, _ client: HTTPClient) async throws -> [UInt8] {
        var request = HTTPClientRequest(url: address)
        request.headers.add(name: "accept", value: "application/jwk-set+json, application/json")
        request.headers.add(name: "user-agent", value: "mvi-server")
        let response = try await client.execute(request, timeout: .seconds(60))
        guard response.status == .ok else {
            let redirects = (300..<400).contains(response.status.code) ? "; redirects are not followed" : ""
            throw KeyReadError("the server answered \(response.status.code)\(redirects)")
        }
        var bytes: [UInt8] = []
        for try await part in response.body {
            guard bytes.count + part.readableBytes <= KeySetDocument.longest else {
                throw KeyReadError("the server sent more than \(KeySetDocument.longest) bytes")
            }
            bytes += part.readableBytesView
        }
        return bytes
    }
}
