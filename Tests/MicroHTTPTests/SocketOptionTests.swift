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
            let server = Acceptor.accept(listener, nil, nil)
            try #require(server >= 0)
            defer { close(server) }
            prepare(server)
            defer { withExtendedLifetime(client) {} }
            return bytesTaken(by: server)
        }

        @Test func `a program that is started meanwhile does not inherit an accepted socket`() async throws {
            _ = try await bytesTaken { #expect(fcntl($0, F_GETFD) & FD_CLOEXEC != 0) }
        }

        private func bytesTaken(by server: Int32) -> Int {
            let bytes = [UInt8](repeating: 0x61, count: 16 * 1024)
            var taken = 0
            while case let count = send(server, bytes, bytes.count, Int32(MSG_DONTWAIT)), count > 0 { taken += count }
            return taken
        }

        @Test func `a stream's Unix socket takes little for a proxy that does not read`() throws {
            func bytesTaken(_ prepare: (Int32) -> Void) throws -> Int {
                var ends: [Int32] = [0, 0]
                try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
                defer { for end in ends { close(end) } }
                prepare(ends[0])
                return self.bytesTaken(by: ends[0])
            }
            let unlimited = try bytesTaken { _ in }
            let limited = try bytesTaken { SocketOptions.limitUnsent(on: $0) }
            // Linux doubles the size for its own needs.
            #expect(limited > 0 && limited <= 2 * Int(SocketOptions.unsentLimit))
            #expect(limited < unlimited, "\(limited) and \(unlimited) bytes")
        }

        @Test func `a stream's socket takes little for a client that does not read`() async throws {
            let unlimited = try await bytesTaken { _ in }
            let limited = try await bytesTaken { SocketOptions.limitUnsent(on: $0) }
            #expect(limited <= Int(SocketOptions.unsentLimit) + 64 * 1024)
            #expect(limited < unlimited / 4, "\(limited) and \(unlimited) bytes")
        }
    }
}
