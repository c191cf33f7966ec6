import Glibc
import Logging

/// The process's limit of open files, below which the configured connections must fit.
enum OpenFiles {
    /// What a process needs besides connections: listening, epoll, a database, the log.
    private static let others = 64

    /// Raises the soft limit as far as `connections` need and the hard one allows, and says so if that is not enough.
    static func makeRoom(for connections: Int, logger: Logger) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        let needed = rlim_t(connections + others)
        if limit.rlim_cur < needed {
            limit.rlim_cur = min(needed, limit.rlim_max)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
        guard limit.rlim_cur < needed else { return }
        logger.warning(
            """
            The process may open \(limit.rlim_cur) files, fewer than \(connections) connections need; connections past \
            that are ended without an answer, and each stream takes a file too. Raise the limit (ulimit -n) or lower \
            the number of connections.
            """)
    }
}
