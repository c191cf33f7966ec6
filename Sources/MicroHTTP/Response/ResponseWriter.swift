import CMicroHTTPD
import Logging

/// Converts a `Response` to libmicrohttpd's.
enum ResponseWriter {
    /// Queues `response`, on libmicrohttpd's thread in its handler. `stream` is retained until the library has released
    /// the response; its `handOver` is called after the head was sent.
    static func queue(
        _ response: Response, on connection: OpaquePointer, closing: Bool, stream: RequestContext?, logger: Logger
    ) -> MHD_Result {
        guard let made = make(response, stream) else { return .NO }
        // The library holds its own reference while it sends.
        defer { MHD_destroy_response(made) }
        for field in response.fields where field.standing != .ours {
            if field.standing == .malformed || !add(field, to: made) {
                logger.error(
                    "A malformed field of a response was omitted", metadata: ["name": "\(field.name)"])
            }
        }
        if closing || stream != nil { MHD_add_response_header(made, "Connection", "close") }
        return MHD_queue_response(connection, UInt32(response.status), made)
    }

    private static func make(_ response: Response, _ stream: RequestContext?) -> OpaquePointer? {
        if let stream {
            // Retained here, released in the last callback. The block size is for HTTP/1.0, which never fills it.
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

    /// The library copies the bytes, since an array's storage has no address that outlives a call.
    private static func make(bytes: [UInt8]) -> OpaquePointer? {
        bytes.withUnsafeBytes { buffer in
            MHD_create_response_from_buffer(
                buffer.count, UnsafeMutableRawPointer(mutating: buffer.baseAddress), .RESPMEM_MUST_COPY)
        }
    }

    /// Passes the name's and value's own bytes, which end in a NUL: a `String` passed as a C string would be copied.
    private static func add(_ field: ResponseField, to response: OpaquePointer) -> Bool {
        field.name.withCString { name in
            field.value.withCString { value in MHD_add_response_header(response, name, value) == .YES }
        }
    }
}
