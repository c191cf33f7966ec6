import Glibc
import Testing

@testable import MicroHTTP

@Suite struct SocketOutputTests {
    /// Returns the text that arrives at the other end of a socket.
    private func written(_ size: Int, last: Bool) throws -> String {
        var pair: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        defer { pair.forEach { close($0) } }
        let payload = [UInt8](repeating: UInt8(ascii: "x"), count: size)
        guard case .taken = SocketOutput.write(payload, to: pair[0], framed: true, last: last) else {
            Issue.record("the socket took only a part of \(size) bytes")
            return ""
        }
        close(pair[0])
        pair[0] = -1
        var received: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 8192)
        while case let count = read(pair[1], &room, room.count), count > 0 { received += room[..<count] }
        return String(decoding: received, as: UTF8.self)
    }

    @Test(arguments: [1, 9, 10, 15, 16, 17, 255, 256, 4095, 4096, 65_535])
    func `A chunk says its size in hexadecimal`(size: Int) throws {
        let chunk = String(size, radix: 16) + "\r\n" + String(repeating: "x", count: size) + "\r\n"
        #expect(try written(size, last: false) == chunk)
        #expect(try written(size, last: true) == chunk + "0\r\n\r\n")
    }

    @Test func `Nothing is no chunk, and the last of nothing is the end`() throws {
        #expect(try written(0, last: false) == "")
        #expect(try written(0, last: true) == "0\r\n\r\n")
    }
}
