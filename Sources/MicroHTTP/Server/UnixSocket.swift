import Glibc

/// A Unix socket to listen on.
package struct UnixSocket: Sendable, Hashable {
    /// The socket's file.
    package var path: String
    /// The permissions of the file: programs that may write it may connect.
    package var mode: UInt32

    package init(path: String, mode: UInt32) { (self.path, self.mode) = (path, mode) }

    /// A listening socket and the identity of its file.
    struct Listening: Sendable {
        let descriptor: Int32
        fileprivate let file: (path: String, device: dev_t, number: ino_t)

        /// Removes the file unless it is another one by now.
        func removeFile() {
            if let now = UnixSocket.status(file.path), now.st_dev == file.device, now.st_ino == file.number {
                unlink(file.path)
            }
        }
    }

    /// Returns a listening socket, which the caller owns. A socket that a process left behind is replaced; one on which
    /// a process answers, and any other file, is not.
    func open() throws(HTTPServerError) -> Listening {
        guard !path.isEmpty, path.utf8.count < sockaddr_un.room, !path.utf8.contains(0) else {
            throw HTTPServerError(
                .invalidConfiguration,
                "Cannot listen on the Unix socket \(path): the path of a socket has 1 to \(sockaddr_un.room - 1) bytes."
            )
        }
        // Two servers that start at the same time must not remove each other's socket.
        let folder = try lockFolder()
        defer { close(folder) }
        let (address, length) = sockaddr_un.with(Array(path.utf8) + [0])
        try removeLeftOver(address, length)
        let descriptor = try Self.socket(path)
        var isDone = false
        defer { if !isDone { close(descriptor) } }
        var bound = address
        guard withSocketAddress(&bound, { bind(descriptor, $0, length) }) == 0 else { throw failure("bind to") }
        // Before `listen`, no program can connect.
        guard chmod(path, mode_t(mode)) == 0, let status = Self.status(path), listen(descriptor, 4096) == 0 else {
            let error = failure("listen on")
            unlink(path)
            throw error
        }
        isDone = true
        return Listening(descriptor: descriptor, file: (path, status.st_dev, status.st_ino))
    }

    /// Locks the folder of the socket until the descriptor is closed.
    private func lockFolder() throws(HTTPServerError) -> Int32 {
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let folder = end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("open the folder of") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw HTTPServerError(
                .cannotListen,
                "Cannot listen on the Unix socket \(path): another process has locked its folder. Start again, or use a folder of the server's own."
            )
        }
        return descriptor
    }

    private func removeLeftOver(_ address: sockaddr_un, _ length: socklen_t) throws(HTTPServerError) {
        guard let found = Self.status(path) else { return }
        guard found.st_mode & S_IFMT == S_IFSOCK else {
            throw HTTPServerError(
                .cannotListen,
                "Cannot listen on the Unix socket \(path): the file there is no socket. Remove it, or choose another path."
            )
        }
        let probe = try Self.socket(path)
        defer { close(probe) }
        var address = address
        // A process that listens with a full queue is `EAGAIN`.
        let answers = withSocketAddress(&address) { connect(probe, $0, length) } == 0 || errno != ECONNREFUSED
        guard !answers else {
            throw HTTPServerError(
                .addressInUse,
                "Cannot listen on the Unix socket \(path): another process listens there, or may not be asked. Stop it, or choose another path."
            )
        }
        guard unlink(path) == 0 || errno == ENOENT else { throw failure("replace") }
    }

    private static func socket(_ path: String) throws(HTTPServerError) -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = Glibc.socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw UnixSocket(path: path, mode: 0).failure("open") }
        return descriptor
    }

    /// The status of a file, not of one to which it links; nil if there is none.
    fileprivate static func status(_ path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }

    private func failure(_ verb: String) -> HTTPServerError {
        HTTPServerError(
            .cannotListen, "Cannot \(verb) the Unix socket \(path): \(String(cString: strerror(errno))).")
    }
}
