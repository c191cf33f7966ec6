import Glibc

/// Where a server is spoken to by commands on its machine: a Unix socket in its data folder.
///
/// A socket's address holds 107 bytes, and folders may be deeper: the path goes through the open folder's name in
/// `/proc`, which is short. See unix(7) and proc_pid_fd(5).
///
/// The socket's file stays when its server has ended: it refuses connections then, and the next server replaces it. If
/// the one that ends removed it, it could be the next one's already.
struct ControlAddress {
    static let fileName = "control.sock"

    let folder: String

    var path: String { folder.hasSuffix("/") ? folder + Self.fileName : "\(folder)/\(Self.fileName)" }

    /// A socket that listens; nobody but the owner can connect to it. One that another process left behind is replaced:
    /// call it only when nobody else can serve from this folder. The caller owns the descriptor.
    func listen() throws(ControlFailure) -> Int32 {
        try withAddress { address, length throws(ControlFailure) in
            let descriptor = try Self.socket()
            var isReady = false
            defer { if !isReady { close(descriptor) } }
            // The mode of the file to be: bind(2) takes it from the socket, so that at no time others can connect.
            guard fchmod(descriptor, 0o600) == 0 else { throw failure("make a socket for") }
            guard unlink(path) == 0 || errno == ENOENT else { throw failure("replace") }
            guard bind(descriptor, address, length) == 0 else { throw failure("listen on") }
            guard Glibc.listen(descriptor, 8) == 0 else { throw failure("listen on") }
            isReady = true
            return descriptor
        }
    }

    /// A socket that is connected; nil if nobody listens. The caller owns the descriptor.
    func connect() throws(ControlFailure) -> Int32? {
        try withAddress { address, length throws(ControlFailure) in
            let descriptor = try Self.socket()
            if Glibc.connect(descriptor, address, length) == 0 { return descriptor }
            let code = errno
            close(descriptor)
            // What a server that was killed leaves behind refuses connections.
            guard code == ENOENT || code == ECONNREFUSED else {
                errno = code
                throw failure("connect to")
            }
            return nil
        }
    }

    private static func socket() throws(ControlFailure) -> Int32 {
        let descriptor = Glibc.socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw ControlFailure("Cannot open a socket: \(systemText(errno)).") }
        return descriptor
    }

    private func failure(_ verb: String) -> ControlFailure {
        ControlFailure("Cannot \(verb) \(path): \(systemText(errno)).")
    }

    /// The address is valid during the call.
    private func withAddress<Value>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws(ControlFailure) -> Value
    ) throws(ControlFailure) -> Value {
        let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else {
            throw ControlFailure("Cannot open the folder \(folder): \(systemText(errno)).")
        }
        defer { close(directory) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = "/proc/self/fd/\(directory)/\(Self.fileName)"
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                Result { () throws(ControlFailure) in
                    try body(address, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
        return try result.get()
    }
}

/// The sentence for an errno.
func systemText(_ code: Int32) -> String { String(cString: strerror(code)) }
