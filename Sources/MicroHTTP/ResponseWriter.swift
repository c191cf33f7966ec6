import CMicroHTTPD
import Logging

/// Turns a `Response` into libmicrohttpd's.
enum ResponseWriter {
    /// Queues `response`. On libmicrohttpd's thread, in its handler. `stream` is kept alive until the library has
    /// let go of the response; its `handOver` is called when the head has been sent.
    static func queue(
        _ response: Response, on connection: OpaquePointer, closing: Bool, stream: RequestContext?, logger: Logger
    ) -> MHD_Result {
        guard let made = make(response, stream) else { return .NO }
        // The library counts its own reference while it sends.
        defer { MHD_destroy_response(made) }
        for field in response.fields where !isOurs(field.name) {
            if !isWellFormed(field) || !add(field, to: made) {
                logger.error(
                    "A response's field is left out: it is not well-formed", metadata: ["name": "\(field.name)"])
            }
        }
        if closing || stream != nil { MHD_add_response_header(made, "Connection", "close") }
        return MHD_queue_response(connection, UInt32(response.status), made)
    }

    private static func make(_ response: Response, _ stream: RequestContext?) -> OpaquePointer? {
        if let stream {
            // Retained here, released in the last callback; the block is for HTTP/1.0, which never fills it.
            return MHD_create_response_from_callback(
                UInt64.max, 16,
                { context, _, _, _ in
                    context.map { Unmanaged<RequestContext>.fromOpaque($0).takeUnretainedValue().handOver() }
                    return cmhd_end_with_error()
                },
                Unmanaged.passRetained(stream).toOpaque(),
                { context in context.map { Unmanaged<RequestContext>.fromOpaque($0).release() } })
        }
        guard case .bytes(let bytes) = response.body else { return make(bytes: []) }
        return make(bytes: bytes)
    }

    /// The library copies: an array's storage has no address that outlives a call.
    private static func make(bytes: [UInt8]) -> OpaquePointer? {
        bytes.withUnsafeBytes { buffer in
            MHD_create_response_from_buffer(
                buffer.count, UnsafeMutableRawPointer(mutating: buffer.baseAddress), .RESPMEM_MUST_COPY)
        }
    }

    /// A `String` that is passed as a C string is copied for it; its own bytes end in a NUL already.
    private static func add(_ field: (name: String, value: String), to response: OpaquePointer) -> Bool {
        field.name.withCString { name in
            field.value.withCString { value in MHD_add_response_header(response, name, value) == .YES }
        }
    }

    /// Fields that say how the message is framed, which only this layer knows.
    static func isOurs(_ name: String) -> Bool {
        func isCaselessly(_ other: String) -> Bool { zip(name.utf8, other.utf8).allSatisfy { $0.lowercased == $1 } }
        switch name.utf8.count {
        case 4: return isCaselessly("date")
        case 14: return isCaselessly("content-length")
        case 17: return isCaselessly("transfer-encoding")
        default: return false
        }
    }

    static func isWellFormed(_ field: (name: String, value: String)) -> Bool {
        var (name, value) = field
        return name.withUTF8(\.isToken) && value.withUTF8(\.isFieldValue)
    }
}
