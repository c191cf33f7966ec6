import LibCurl

/// One download of a key set: without redirects, limited in time and in bytes.
struct KeyDownload: Sendable {
    private static let client = CurlClient()

    /// The time limit of the whole download, including the name lookup.
    var timeout: Duration = .seconds(5)

    /// Returns the content at an address.
    func callAsFunction(_ address: String) async throws(KeyReadError) -> [UInt8] {
        var request = CurlRequest(
            "GET", address,
            fields: [("Accept", "application/jwk-set+json, application/json"), ("User-Agent", "mvi-server")],
            time: timeout)
        // Downloads are minutes apart, so nothing reuses the connection or the resolved address.
        request.isAlone = true
        let answer: CurlAnswer
        do throws(CurlFailure) { answer = try await Self.client.send(request, longest: KeySetDocument.longest) } catch {
            switch error.reason {
            case .tookTooLong: throw KeyReadError("the download took longer than \(timeout)")
            case .tooLong: throw KeyReadError("the server sent more than \(KeySetDocument.longest) bytes")
            default: throw KeyReadError("the download failed: \(error.description)")
            }
        }
        guard answer.head.status == 200 else {
            let redirects = (300..<400).contains(answer.head.status) ? "; redirects are not followed" : ""
            throw KeyReadError("the server answered \(answer.head.status)\(redirects)")
        }
        return answer.body
    }
}
