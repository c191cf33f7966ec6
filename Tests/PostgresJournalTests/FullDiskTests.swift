#if os(Linux)
    import Glibc
    import Locking
    import MVI
    import SessionJournal
    import TestSupport
    import Testing

    @testable import PostgresJournal

    /// A real disk that is full: a small one in memory, which only root can mount.
    @Suite(.enabled(if: SmallTablespace.canMount)) struct FullDiskTests {
        @Test func `a full disk loses nothing that was answered, and writes continue when it has room`()
            async throws
        {
            let schema = try await TestSchema()
            let disk = try SmallTablespace(in: schema.cluster.folder, bytes: 24 << 20)
            try await schema.cluster.run("CREATE TABLESPACE \(disk.name) LOCATION '\(disk.path)'")
            let url = schema.cluster.url() + "&options=-cdefault_tablespace%3D\(disk.name)"
            let log = LogKeeper()
            let journal = try await schema.journal(url: url, logger: log.logger)
            try disk.fill(leaving: 4 << 20)
            let secret = try await awaitResult { journal.secret(done: $0) }.get()
            let session = try await journal.newSession()
            var (head, kept) = (SessionHead.empty, 0)
            var failure: AppendResult?
            while failure == nil {
                // A new store each time, with incompressible bytes.
                let turn = session.turn(after: head, store: kept, state: Self.randomText(40_000))
                let result = await journal.append(turn)
                if result.isCommitted { (head, kept) = (turn.head, kept + 1) } else { failure = result }
                try #require(kept < 1_000, "the disk is not full")
            }
            #expect(failure?.failure == .full)
            #expect(kept > 10)
            let news = try #require(try await journal.news(session))
            #expect(news.head == head && news.stores.count == kept)
            // Each lane's new connections work, and small changes fit. Until there is room, that ends no trouble.
            let connections = journal.statistics.connections
            while journal.statistics.connections < connections + 8 {
                try #require(journal.trouble?.code == .full)
                let result = await journal.append(session.turn(after: head, store: kept, state: "1"))
                try #require(result.failure == .full, "\(result)")
            }
            #expect(log.messages.count { $0.contains("is in trouble") } == 1, "\(log.lines)")
            #expect(!log.messages.contains { $0.contains("works again") })
            try disk.makeRoom()
            // A bound on a hang only: the server probes every few seconds.
            let end = ContinuousClock.now + .seconds(600)
            var turn = session.turn(after: head, store: kept, state: Self.randomText(40_000))
            while true {
                let result = await journal.append(turn)
                if result.isCommitted { break }
                // One with an unknown outcome may be committed; its repetition would be a conflict for ever.
                if result.isUnknown || result.isConflict, let now = try? await journal.news(session),
                    now.head == turn.head
                {
                    break
                }
                try #require(
                    ContinuousClock.now < end,
                    "the journal does not recover: \(result), \(String(describing: journal.trouble))")
            }
            (head, kept) = (turn.head, kept + 1)
            turn = session.turn(after: head, store: kept, state: "1")
            #expect(await journal.append(turn).isCommitted)
            try await journal.waitForTrouble(false)
            #expect(log.messages.count { $0.contains("works again") } == 1, "\(log.lines)")
            #expect(try await journal.news(session)?.stores.count == kept + 1)
            // The proof of room left nothing in the table that it used.
            #expect(try await awaitResult { journal.secret(done: $0) }.get() == secret)
            #expect(try await schema.number("SELECT count(*) FROM @.former_keys") == 0)
            await journal.close()
            try await schema.run("DROP SCHEMA @ CASCADE")
            try await schema.cluster.run("DROP TABLESPACE \(disk.name)")
        }

        private static func randomText(_ count: Int) -> String {
            String(decoding: (0..<count).map { _ in UInt8.random(in: 33...126) }, as: UTF8.self)
        }
    }

    /// A folder on its own disk for a tablespace, owned by the server's user.
    private final class SmallTablespace: Sendable {
        let name = "small_\(UInt32.random(in: 0 ... .max))"
        let path: String
        private let mountPoint: String
        private let bytes: Int

        init(in folder: String, bytes: Int) throws {
            mountPoint = "\(folder)/\(name)"
            path = mountPoint + "/data"
            self.bytes = bytes
            try #require(mkdir(mountPoint, 0o755) == 0)
            try #require(mount("tmpfs", mountPoint, "tmpfs", 0, "size=\(bytes),mode=755") == 0)
            try #require(mkdir(path, 0o700) == 0)
            let server = try #require(getpwnam("nobody"))
            try #require(chown(path, server.pointee.pw_uid, server.pointee.pw_gid) == 0)
        }

        deinit { umount2(mountPoint, Int32(MNT_DETACH)) }

        /// Fills the disk except for some bytes.
        func fill(leaving room: Int) throws {
            var info = statvfs()
            try #require(statvfs(mountPoint, &info) == 0)
            let free = Int(info.f_bavail) * Int(info.f_bsize)
            let file = open(mountPoint + "/ballast", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(file) }
            try #require(posix_fallocate(file, 0, max(1, free - room)) == 0)
        }

        func makeRoom() throws { try #require(unlink(mountPoint + "/ballast") == 0) }

        static let canMount: Bool = {
            let folder = "/tmp/mvi-mount-\(UInt64.random(in: 0 ... .max))"
            defer { rmdir(folder) }
            guard mkdir(folder, 0o700) == 0, mount("tmpfs", folder, "tmpfs", 0, "size=4096") == 0 else { return false }
            umount2(folder, 0)
            return true
        }()
    }

    extension TestSession {
        /// Returns the next turn, which creates another store.
        fileprivate func turn(after head: SessionHead, store: Int, state: String) -> JournalBatch {
            var turn = turn(after: head, state: state)
            turn.stores[0].feature = FeatureID(name: "counter", key: "\(store)")
            turn.stores[0].kind = .made
            turn.stores[0].view = []
            return turn
        }
    }
#endif
