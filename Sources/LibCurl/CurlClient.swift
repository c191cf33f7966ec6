import Locking

/// Sends HTTP requests with libcurl on one thread of its own, which starts with the first request.
///
/// Connections are kept for later requests. No request is sent twice: if a kept connection turns out to be closed, the
/// request fails.
package final class CurlClient: Sendable {
    private let loop: CurlLoop

    /// - Parameters:
    ///   - connections: The largest number to one host. Further requests wait within their time limits.
    ///   - idleTime: The longest idle time after which a connection is used again.
    package init(connections: Int = 64, idleTime: Duration = .seconds(10)) {
        loop = CurlLoop(connections: connections, idleTime: idleTime)
    }

    deinit { loop.close() }

    /// Ends all requests. Later ones fail.
    package func close() { loop.close() }

    /// Sends a request and waits for the whole response.
    ///
    /// - Parameter longest: The largest size of a decoded body in bytes.
    package func send(_ request: CurlRequest, longest: Int) async throws(CurlFailure) -> CurlAnswer {
        let answer = Lock(CurlAnswer())
        try await stream(request) { part in
            answer.withLock { answer in
                switch part {
                case .head(let head): answer.head = head
                case .bytes(let bytes):
                    guard answer.body.count + bytes.count <= longest else { return false }
                    answer.body += bytes
                }
                return true
            }
        }
        return answer.withLock { $0 }
    }

    /// Sends a request and returns after the end of its response. Canceling the task ends the request.
    ///
    /// - Parameter receive: Receives the response's parts on the client's thread and must not block. False ends the
    ///   request with the failure `tooLong`.
    package func stream(
        _ request: CurlRequest, _ receive: @escaping @Sendable (CurlPart) -> Bool
    ) async throws(CurlFailure) {
        let transfer = Transfer(request, receive)
        let failure = await withTaskCancellationHandler {
            await withCheckedContinuation { loop.start(transfer, $0) }
        } onCancel: {
            loop.cancel(transfer)
        }
        if let failure { throw failure }
    }
}
