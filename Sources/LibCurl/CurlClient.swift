import Locking

/// Sends requests over HTTP by libcurl, all on one thread of its own, which starts with the first request.
///
/// Connections are kept for later requests. No request is sent a second time: where a kept connection turns out to be closed,
/// the request fails.
package final class CurlClient: Sendable {
    private let loop: CurlLoop

    /// - Parameters:
    ///   - connections: How many to one host at once; further requests wait, and their time runs.
    ///   - idleTime: How long a connection may have been without a request to be used again.
    package init(connections: Int = 64, idleTime: Duration = .seconds(10)) {
        loop = CurlLoop(connections: connections, idleTime: idleTime)
    }

    deinit { loop.close() }

    /// Ends all requests; every later one fails.
    package func close() { loop.close() }

    /// Sends a request and waits for the whole answer.
    ///
    /// - Parameter longest: How many bytes of a body are taken, after decoding.
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

    /// Sends a request and returns when its answer has ended. Cancelling the task ends the request.
    ///
    /// - Parameter receive: Gets the answer's parts on the client's thread, where it must not wait; false ends the request with
    ///   the failure `tooLong`.
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
