import ArgumentParser

/// `health`: for the health check of a container without curl.
struct HealthCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "health",
            abstract: "Ask a server on this machine whether it is ready.",
            discussion: """
                Takes --port (or MVI_PORT) and --host like the server, and asks on --admin-port if there is one, \
                because that port is not blocked by clients. Exit code 0 if the server is ready, else 1 with the \
                reason on standard error.
                """)
    }

    @ParentCommand var program: ServerProgram<Command>

    func run() async throws {
        let settings = try program.settings().server
        let address = settings.adminPort == nil ? settings.host : settings.adminHost
        let host = HealthProbe.host(of: address)
        do {
            let status = try HealthProbe.status(
                host: host, port: settings.adminPort ?? settings.port, path: "/health/ready")
            guard status == 200 else { throw HealthProbe.Failure("the server answered \(status)") }
        } catch {
            StandardError.say("not ready: \(error)", by: Command.name)
            throw ExitCode(1)
        }
    }
}

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A single HTTP request over a socket of its own.
///
/// A C border: addresses and buffers are passed as pointers that are valid for the call, and the descriptor is closed
/// where it was opened.
enum HealthProbe {
    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }

    /// The loopback address of a server on every interface. `::` includes IPv4, which every machine has.
    static func host(of address: String) -> String { ["0.0.0.0", "::"].contains(address) ? "127.0.0.1" : address }

    /// Returns the status of a `GET`. Each step times out after two seconds.
    static func status(host: String, port: UInt16, path: String) throws(Failure) -> Int {
        // `HTTP/1.1 200 ` is enough.
        try status(of: answer("GET", host: host, port: port, target: path, seconds: 2, atMost: 12), port)
    }

    /// Returns the status and the body of a short answer.
    ///
    /// - Parameter seconds: the time that each step may take.
    static func answer(
        _ method: String, host: String, port: UInt16, target: String, token: String?, seconds: Int
    ) throws(Failure) -> (status: Int, body: String) {
        let field = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        let bytes = try answer(
            method, host: host, port: port, target: target, field: field, seconds: seconds, atMost: 1 << 20)
        let text = String(decoding: bytes, as: UTF8.self)
        let end = text.firstRange(of: "\r\n\r\n")?.upperBound ?? text.endIndex
        return (try status(of: bytes, port), String(text[end...]))
    }

    private static func status(of answer: [UInt8], _ port: UInt16) throws(Failure) -> Int {
        guard answer.count >= 12, let status = Int(String(decoding: answer[9..<12], as: UTF8.self)) else {
            throw Failure("the process on port \(port) is not an HTTP server")
        }
        return status
    }

    /// Reads up to the end of the connection, or a number of bytes.
    private static func answer(
        _ method: String, host: String, port: UInt16, target: String, field: String = "", seconds: Int, atMost: Int
    ) throws(Failure) -> [UInt8] {
        let descriptor = try connect(host, port, seconds)
        defer { close(descriptor) }
        let request = Array(
            "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\n\(field)Connection: close\r\n\r\n".utf8)
        guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw Failure("the server accepted no request (errno \(errno))")
        }
        var answer: [UInt8] = []
        while answer.count < atMost {
            var part = [UInt8](repeating: 0, count: 4_096)
            let count = recv(descriptor, &part, part.count, 0)
            if count == 0, !answer.isEmpty { break }
            guard count > 0 else { throw Failure("the server gave no answer within \(seconds) seconds") }
            answer += part.prefix(count)
        }
        return answer
    }

    private static func connect(_ host: String, _ port: UInt16, _ seconds: Int) throws(Failure) -> Int32 {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        #if canImport(Glibc)
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
            hints.ai_socktype = SOCK_STREAM
        #endif
        // The list that getaddrinfo allocates; freed below.
        var found = hints.ai_next
        guard getaddrinfo(host, "\(port)", &hints, &found) == 0, let address = found?.pointee else {
            throw Failure("'\(host)' is not an address")
        }
        defer { freeaddrinfo(found) }
        let descriptor = socket(address.ai_family, address.ai_socktype, 0)
        guard descriptor >= 0 else { throw Failure("no socket (errno \(errno))") }
        var patience = timeval(tv_sec: seconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, size)
        #if canImport(Glibc)
            let result = Glibc.connect(descriptor, address.ai_addr, address.ai_addrlen)
        #elseif canImport(Musl)
            let result = Musl.connect(descriptor, address.ai_addr, address.ai_addrlen)
        #else
            let result = Darwin.connect(descriptor, address.ai_addr, address.ai_addrlen)
        #endif
        guard result == 0 else {
            let reason = errno
            close(descriptor)
            throw Failure("nothing listens on \(host) port \(port) (errno \(reason))")
        }
        return descriptor
    }
}
