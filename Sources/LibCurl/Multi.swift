import CLibCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A client's requests in progress and its connections, in libcurl.
///
/// `@unchecked Sendable`, proof: only the loop's thread calls anything except `wake`, which any thread may call
/// (curl_multi_wakeup(3)); the handle is freed with this object.
final class Multi: @unchecked Sendable {
    /// Runs once in a process, before the first handle.
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    private let handle: UnsafeMutableRawPointer?
    private let idleSeconds: Int
    private var isShared = false
    private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]

    init(connections: Int, idleTime: Duration) {
        handle = Self.isReady ? curl_multi_init() : nil
        idleSeconds = max(1, Int(idleTime.components.seconds))
        _ = mvi_curl_multi_set_number(handle, CURLMOPT_MAX_HOST_CONNECTIONS, connections)
        _ = mvi_curl_multi_set_number(handle, CURLMOPT_MAXCONNECTS, connections)
    }

    deinit { curl_multi_cleanup(handle) }

    /// Makes the current or the next `wait` return. From any thread.
    func wake() { curl_multi_wakeup(handle) }

    /// Starts a request. Returns the failure if it cannot start.
    func add(_ transfer: Transfer, _ now: ContinuousClock.Instant) -> CurlFailure? {
        guard !transfer.isCancelled.withLock({ $0 }) else {
            return transfer.failure(.cancelled, "the request was canceled")
        }
        guard let handle, let easy = curl_easy_init() else {
            return transfer.failure(.notWritten, "libcurl could not be set up")
        }
        transfer.easy = easy
        transfer.deadline = transfer.request.time.map { now + $0 }
        if let failure = transfer.prepare(easy, idleSeconds: idleSeconds) { return failure }
        guard curl_multi_add_handle(handle, easy) == CURLM_OK else {
            return transfer.failure(.notWritten, "libcurl rejected the request")
        }
        transfers[easy] = transfer
        return nil
    }

    /// Ends a request at any time.
    func remove(_ transfer: Transfer) {
        guard let easy = transfer.easy else { return }
        if transfers.removeValue(forKey: easy) != nil { curl_multi_remove_handle(handle, easy) }
        curl_easy_cleanup(easy)
        curl_slist_free_all(transfer.lines)
        (transfer.easy, transfer.lines) = (nil, nil)
    }

    /// Continues all requests that need not wait.
    func perform() {
        var count: Int32 = 0
        curl_multi_perform(handle, &count)
        // With HTTP/2, one connection to a server, as in browsers (RFC 9113 section 9.1).
        guard !isShared, transfers.values.contains(where: \.sharesConnection) else { return }
        isShared = true
        _ = mvi_curl_multi_set_number(handle, CURLMOPT_MAX_HOST_CONNECTIONS, 1)
    }

    /// Returns the next finished request with its failure, if any.
    func next() -> (Transfer, CurlFailure?)? {
        var code = CURLE_OK
        while let easy = mvi_curl_multi_next(handle, &code) {
            if let transfer = transfers[easy] { return (transfer, transfer.failure(code)) }
        }
        return nil
    }

    /// Waits for bytes, `wake`, a timer of libcurl's, or the deadline.
    func wait(until deadline: ContinuousClock.Instant?) {
        let left = deadline.map { ($0 - .now) / .milliseconds(1) } ?? 60_000
        curl_multi_poll(handle, nil, 0, Int32(max(0, min(60_000, left.rounded(.up)))), nil)
    }
}
