import CLibCurl
import Locking

/// A request in progress.
///
/// `@unchecked Sendable`, proof: mutable state is accessed only on the loop's thread, where libcurl's callbacks run
/// too; the flag has its lock, the rest is constant.
final class Transfer: @unchecked Sendable, Hashable {
    /// The largest size of a head in bytes. Debian 12's libcurl limits only a line.
    private static let longestHead = 256 * 1024

    let request: CurlRequest
    let isCancelled = Lock(false)
    private let receive: @Sendable (CurlPart) -> Bool

    // For the loop's thread only.
    var easy: UnsafeMutableRawPointer?
    var lines: UnsafeMutablePointer<curl_slist>?
    var deadline: ContinuousClock.Instant?
    private var head = CurlHead()
    private var headBytes = 0
    private var hasHead = false
    private var bodyBytes = 0
    private var wasSent = false
    /// The reason for which a callback ended the request.
    private var ended: CurlFailure.Reason?

    init(_ request: CurlRequest, _ receive: @escaping @Sendable (CurlPart) -> Bool) {
        (self.request, self.receive) = (request, receive)
    }

    static func == (one: Transfer, other: Transfer) -> Bool { one === other }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    func failure(_ reason: CurlFailure.Reason, _ text: String) -> CurlFailure {
        CurlFailure(reason: reason, mayHaveArrived: wasSent, description: text)
    }

    /// Returns the failure for libcurl's result; nil for a whole response.
    func failure(_ code: CURLcode) -> CurlFailure? {
        // A server that refuses a body resets its stream after its response (RFC 9113 section 8.1).
        if code == CURLE_OK || isWhole { return hasHead ? nil : failure(.broken, "the response had no head") }
        let reason: CurlFailure.Reason =
            switch code {
            case CURLE_COULDNT_RESOLVE_HOST: .unknownHost
            case CURLE_COULDNT_CONNECT: .noConnection
            case CURLE_OPERATION_TIMEDOUT: wasSent ? .tookTooLong : .noConnection
            case CURLE_PEER_FAILED_VERIFICATION: .notTrusted
            // A response of another protocol has the same code as an unsupported scheme.
            case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: wasSent ? .broken : .notWritten
            case CURLE_SSL_CACERT_BADFILE: .badAuthorities
            case CURLE_WRITE_ERROR: ended ?? .broken
            default: .broken
            }
        return failure(
            reason,
            reason == .notTrusted
                ? "this machine does not trust the server's certificate"
                : String(cString: curl_easy_strerror(code)))
    }

    /// True if the body has the length that the head gives, and no part was refused.
    private var isWhole: Bool {
        let length = head.fields.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) }
        return hasHead && ended == nil && length == bodyBytes
    }

    /// True if further requests to the server can share the connection.
    var sharesConnection: Bool { hasHead && head.version.hasPrefix("2") }

    /// Configures libcurl's handle. Returns the failure if the request is invalid.
    func prepare(_ easy: UnsafeMutableRawPointer, idleSeconds: Int) -> CurlFailure? {
        guard let lines = fieldLines() else {
            return failure(.notWritten, "a field has a character that HTTP does not allow")
        }
        let context = Unmanaged.passUnretained(self).toOpaque()
        var codes = [
            mvi_curl_set_text(easy, CURLOPT_URL, request.url),
            mvi_curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https"),
            // As given: dots and percent-encoding are unchanged.
            mvi_curl_set_number(easy, CURLOPT_PATH_AS_IS, 1),
            mvi_curl_set_number(easy, CURLOPT_FOLLOWLOCATION, 0),
            // Ignores the environment's proxies too.
            mvi_curl_set_text(easy, CURLOPT_PROXY, ""),
            mvi_curl_set_number(easy, CURLOPT_NOSIGNAL, 1),
            // Ending a request does not wait for its name look-up.
            mvi_curl_set_number(easy, CURLOPT_QUICK_EXIT, 1),
            mvi_curl_set_number(easy, CURLOPT_CONNECTTIMEOUT_MS, Int(request.connectTime / .milliseconds(1))),
            mvi_curl_set_number(easy, CURLOPT_MAXAGE_CONN, idleSeconds),
            mvi_curl_set_number(
                easy, CURLOPT_HTTP_VERSION,
                request.version == .http1 ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS),
            // If a pending connection may turn out to be shareable, wait for it.
            mvi_curl_set_number(
                easy, CURLOPT_PIPEWAIT, request.version == .newest && request.url.hasPrefix("https:") ? 1 : 0),
            mvi_curl_set_fields(easy, lines),
            mvi_curl_set_sinks(easy, headSink, bodySink, context),
            mvi_curl_set_check(easy, sendCheck, context),
        ]
        switch (request.method, request.body.isEmpty) {
        case ("HEAD", _): codes.append(mvi_curl_set_number(easy, CURLOPT_NOBODY, 1))
        case ("GET", true): codes.append(mvi_curl_set_number(easy, CURLOPT_HTTPGET, 1))
        case ("POST", _), ("PUT", _), ("PATCH", _), (_, false):
            // An empty body needs an address, too; libcurl copies the bytes.
            codes.append(
                (request.body + [0]).withUnsafeBytes {
                    mvi_curl_set_body(easy, $0.baseAddress?.assumingMemoryBound(to: CChar.self), request.body.count)
                })
            codes.append(mvi_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, request.method))
        default: codes.append(mvi_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, request.method))
        }
        if request.decodes { codes.append(mvi_curl_set_text(easy, CURLOPT_ACCEPT_ENCODING, "gzip, deflate")) }
        if let file = request.authorities { codes.append(mvi_curl_set_text(easy, CURLOPT_CAINFO, file)) }
        if request.isAlone {
            codes.append(mvi_curl_set_number(easy, CURLOPT_FORBID_REUSE, 1))
            codes.append(mvi_curl_set_number(easy, CURLOPT_FRESH_CONNECT, 1))
            codes.append(mvi_curl_set_number(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0))
        }
        // A limit that cannot be set would not apply.
        guard codes.allSatisfy({ $0 == CURLE_OK }) else {
            return failure(.notWritten, "libcurl \(String(cString: curl_version())) lacks a required option")
        }
        return nil
    }

    /// Returns the lines of the request's fields, without those that libcurl adds.
    private func fieldLines() -> UnsafeMutablePointer<curl_slist>? {
        var texts = [request.expectsContinue ? "Expect: 100-continue" : "Expect:"]
        let names = Set(request.fields.map { $0.name.lowercased() })
        for (name, line) in [("accept", "Accept:"), ("content-type", "Content-Type:")] where !names.contains(name) {
            texts.append(line)
        }
        for (name, value) in request.fields {
            guard !name.isEmpty, (name + value).utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                return nil
            }
            // Without a value libcurl would omit the field.
            texts.append(value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
        for text in texts {
            guard let longer = curl_slist_append(lines, text) else { return nil }
            lines = longer
        }
        return lines
    }

    /// Returns true if the request may be sent on the present connection, which is once.
    ///
    /// libcurl repeats a request, whatever its method, if a kept connection ended without a response. The server may
    /// have run it.
    fileprivate func mayBeSent() -> Bool {
        guard !wasSent else { return false }
        wasSent = true
        return true
    }

    /// Handles a line of a head, or of the trailer, which is ignored.
    fileprivate func takeLine(_ bytes: UnsafeRawBufferPointer) -> Bool {
        headBytes += bytes.count
        guard headBytes <= Self.longestHead else {
            return refuse()
        }
        guard !hasHead else { return true }
        let line = String(decoding: bytes, as: UTF8.self).trimmed { $0.isNewline }
        if line.hasPrefix("HTTP/") {
            let words = line.split(separator: " ", maxSplits: 2)
            head = CurlHead(
                status: words.count > 1 ? Int(words[1]) ?? 0 : 0, version: String(words[0].dropFirst("HTTP/".count)))
        } else if line.isEmpty {
            guard head.status >= 200 else { return true }
            hasHead = true
            return receive(.head(head)) || refuse()
        } else if let colon = line.firstIndex(of: ":") {
            let value = line[line.index(after: colon)...].trimmed { $0 == " " || $0 == "\t" }
            head.fields.append((String(line[..<colon]), String(value)))
        }
        return true
    }

    fileprivate func takeBody(_ bytes: [UInt8]) -> Bool {
        bodyBytes += bytes.count
        return receive(.bytes(bytes)) || refuse()
    }

    private func refuse() -> Bool {
        ended = .tooLong
        return false
    }
}

extension CurlFailure {
    static let closed = CurlFailure(reason: .cancelled, mayHaveArrived: false, description: "the client is closed")
    static let noThread = CurlFailure(
        reason: .notWritten, mayHaveArrived: false, description: "the system has no thread for it")
}

extension StringProtocol {
    fileprivate func trimmed(_ isTrimmed: (Character) -> Bool) -> SubSequence {
        let begin = drop(while: isTrimmed)
        guard let last = begin.lastIndex(where: { !isTrimmed($0) }) else { return begin[begin.endIndex...] }
        return begin[...last]
    }
}

// libcurl's callbacks, on the loop's thread. The context is the transfer, retained until the handle is freed.

private func transfer(_ context: UnsafeMutableRawPointer?) -> Transfer? {
    context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
}

private let headSink: mvi_curl_sink = { bytes, size, count, context in
    transfer(context)?.takeLine(UnsafeRawBufferPointer(start: bytes, count: size * count)) == true ? size * count : 0
}

private let bodySink: mvi_curl_sink = { bytes, size, count, context in
    let part = [UInt8](UnsafeRawBufferPointer(start: bytes, count: size * count))
    return transfer(context)?.takeBody(part) == true ? size * count : 0
}

private let sendCheck: mvi_curl_check = { context, _, _, _, _ in
    transfer(context)?.mayBeSent() == true ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}
