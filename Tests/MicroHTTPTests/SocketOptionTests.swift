import Glibc
import Testing

@testable import MicroHTTP

extension MicroHTTPSuites {
    @Suite struct SocketOptionTests {
        /// Returns the number of bytes that a connection's socket accepts while its other end reads nothing.
        private func bytesTaken(_ prepare: (Int32) -> Void) async throws -> Int {
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(listener) }
            try #require(listen(listener, 1) == 0)
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            try withUnsafeMutablePointer(to: &address) { pointer in
                try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    try #require(getsockname(listener, $0, &length) == 0)
                }
            }
            let client = try RawClient(port: UInt16(bigEndian: address.sin_port), receiveBuffer: 4_096)
            let server = accept(listener, nil, nil)
            try #require(server >= 0)
            defer { close(server) }
            prepare(server)
            let bytes = [UInt8](repeating: 0x61, count: 16 * 1024)
            var taken = 0
            while true {
                let count = send(server, bytes, bytes.count, Int32(MSG_DONTWAIT))
                if count <= 0 { break }
                taken += count
            }
            withExtendedLifetime(client) {}
            return taken
        }

        @Test func `a stream's socket takes little for a client that does not read`() async throws {
            let unlimited = try await bytesTaken { _ in }
            let limited = try await bytesTaken { SocketOptions.limitUnsent(on: $0) }
            #expect(limited <= Int(SocketOptions.unsentLimit) + 64 * 1024)
            #expect(limited < unlimited / 4, "\(limited) and \(unlimited) bytes")
        }
    }
}
