import Glibc
import Locking
import Logging

/// Checks that this libmicrohttpd leaves a handed-over socket open. All streams depend on this, but its documentation
/// does not promise it.
enum HandOverTest {
    private final class Source: StreamSource {
        func opened(_ stream: StreamHandle) {}
        func nextStep() -> StreamStep { .finish(Array("handed over".utf8)) }
        func aged() {}

        func heartbeat() -> [UInt8]? { nil }
        func closed(_ reason: StreamEnd) {}
    }

    private struct Handler: RequestHandler {
        func receive(_ head: RequestHead) -> HeadVerdict {
            .accept(bodyLimit: 0) { _, respond in respond(Response(status: 200, body: .stream(Source()))) }
        }
        func response(to fault: RequestFault, head: RequestHead?) -> Response { Response(status: fault.status) }
    }

    /// Nil if it works, otherwise the received text. Checked once per process.
    private static let failure: HTTPServerError? = {
        do throws(HTTPServerError) {
            let received = try exchange()
            let expected = "\r\n\r\nb\r\nhanded over\r\n0\r\n\r\n"
            guard !received.hasSuffix(expected) else { return nil }
            return HTTPServerError(
                .cannotHandOver,
                "This libmicrohttpd does not let a stream's socket be handed over: a test stream over 127.0.0.1 did not"
                    + " arrive whole. Versions known to work: 0.9.75. Install one of them. Received: "
                    + received.debugDescription)
        } catch {
            return error
        }
    }()

    /// Throws if sockets cannot be handed over. Blocks for a few milliseconds, at worst for some seconds.
    static func run() throws(HTTPServerError) {
        if let failure { throw failure }
    }

    private static func exchange() throws(HTTPServerError) -> String {
        var configuration = HTTPServerConfiguration()
        configuration.threads = 1
        let logger = Logger(label: "hand-over") { _ in SwiftLogNoOpLogHandler() }
        let server = HTTPServer(configuration, logger, Handler(), testsHandOver: false)
        try server.start()
        let received = request(port: server.port)
        server.stopAfterTest()
        return received
    }

    /// Returns everything that a plain client receives. Waits at most two seconds between two reads.
    private static func request(port: UInt16) -> String {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var limit = timeval(tv_sec: 2, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        let line = Array("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8)
        guard connected == 0, send(descriptor, line, line.count, Int32(MSG_NOSIGNAL)) == line.count else {
            return ""
        }
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1024)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return String(decoding: received, as: UTF8.self) }
            received += buffer[..<count]
        }
    }
}
