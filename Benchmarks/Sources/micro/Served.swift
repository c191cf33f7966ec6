import Glibc
import MVIServer

/// The real server in this process, and one client. The client posts an intent, reads the answer and the event on a
/// stream, and then posts the next.
///
/// The count covers all user-space code: libmicrohttpd, the layers above it and the client, which costs a few hundred
/// instructions.
struct Served {
    private let poster: Int32
    private let stream: Int32
    private let request: [UInt8]
    private var room = [UInt8](repeating: 0, count: 16 << 10)

    /// Starts the server with the settings of the environment (`MVI_PORT` must be set).
    init() throws {
        Task.detached {
            do {
                try await FeatureServer { Tally() }.run()
            } catch {
                fatalError("the server ended: \(error)")
            }
        }
        guard let text = getenv("MVI_PORT"), let port = UInt16(String(cString: text)) else {
            fatalError("MVI_PORT must be a free port's number")
        }
        poster = Self.connect(port)
        let made = Self.exchange(poster, "POST /sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        let token = made.split(separator: "\"token\":\"")[1].prefix { $0 != "\"" }
        stream = Self.connect(port)
        _ = Self.exchange(
            stream,
            "GET /features/tally/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n\r\n")
        let body = #"{"type":"add","amount":1}"#
        request = Array(
            ("POST /features/tally/intents HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n"
                + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)").utf8)
    }

    mutating func post() {
        guard send(poster, request, request.count, 0) == request.count else { fatalError("cannot send") }
        read(poster, until: UInt8(ascii: "}"))
        read(stream, until: UInt8(ascii: "\n"))
    }

    /// Reads until the data ends with `last`, possibly in the middle of a chunk.
    private mutating func read(_ socket: Int32, until last: UInt8) {
        while true {
            let count = recv(socket, &room, room.count, 0)
            guard count > 0 else { fatalError("the server closed a connection") }
            let end = room[..<count].last { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
            if room[count - 1] == last || end == last { return }
        }
    }

    private static func connect(_ port: UInt16) -> Int32 {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        for _ in 0..<3000 {
            let result = withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            if result == 0 { return socket }
            usleep(10_000)
        }
        fatalError("nothing listens on port \(port)")
    }

    private static func exchange(_ socket: Int32, _ request: String) -> String {
        let bytes = Array(request.utf8)
        guard send(socket, bytes, bytes.count, 0) == bytes.count else { fatalError("cannot send") }
        var room = [UInt8](repeating: 0, count: 16 << 10)
        var answer: [UInt8] = []
        while true {
            let count = recv(socket, &room, room.count, 0)
            guard count > 0 else {
                fatalError("the server closed a connection: \(String(decoding: answer, as: UTF8.self))")
            }
            answer += room[..<count]
            // The session, or a stream's first state.
            let text = String(decoding: answer, as: UTF8.self)
            if text.contains("\"token\":\"") && text.hasSuffix("}") || text.contains("event: state") { return text }
        }
    }
}
