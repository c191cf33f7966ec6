import MVI
#if os(Linux)
    import Glibc
    import SessionJournal
    import Testing

    @testable import SQLiteJournal

    /// Real disks that are full or read-only: small ones in memory, which only root can mount.
    @Suite(.enabled(if: SmallDisk.canMount), .timeLimit(.minutes(10))) struct RealDiskTests {
        @Test func `a full disk loses nothing that was answered, and writes continue when it has room`()
            async throws
        {
            let disk = try SmallDisk(bytes: 4 << 20)
            let journal = try await disk.folder.journal { $0.checkpointPages = 50 }
            let session = try await journal.newSession()
            var head = SessionHead.empty
            try write([UInt8](repeating: 1, count: 2 << 20), to: disk.folder.path + "/ballast")
            var kept = 0
            // A new store each time, so that the size grows.
            while true {
                let feature = FeatureID(name: "counter", key: "\(kept)")
                let turn = session.turn(after: head, of: feature, state: String(repeating: "x", count: 20_000))
                let result = await journal.append(turn)
                guard result.isCommitted else {
                    #expect(result.failure == .full)
                    break
                }
                head = turn.head
                kept += 1
                try #require(kept < 1_000)
            }
            #expect(journal.trouble?.code == .full)
            #expect(try await journal.load(session).found?.stores.count == kept)
            #expect(try await journal.load(session).found?.head == head)
            try disk.folder.remove("ballast")
            try await journal.waitForTrouble(false)
            let turn = session.turn(after: head, of: FeatureID(name: "last", key: nil))
            #expect(await journal.append(turn).isCommitted)
            #expect(try await journal.load(session).found?.stores.count == kept + 1)
            await journal.close()
        }

        @Test(arguments: [true, false])
        func `a read-only disk allows reads, and writes continue when it is writable`(
            isOpen: Bool
        ) async throws {
            let disk = try SmallDisk(bytes: 4 << 20)
            var journal = try await disk.folder.journal()
            let session = try await journal.newSession()
            let head = try await journal.commit(["1"], of: session)
            if isOpen {
                // A disk cannot become read-only while a file on it is open for writing. A full one can stay so after
                // its server ended.
                await journal.close()
                try disk.remount(isReadOnly: true)
                journal = try await disk.folder.journal()
            } else {
                let killed = try disk.folder.copyAsAfterKill()
                await journal.close()
                for end in ["", "-wal", "-shm"] {
                    try write(contents(killed.database + end), to: disk.folder.database + end)
                }
                try disk.remount(isReadOnly: true)
                journal = try await disk.folder.journal()
            }
            #expect(journal.trouble?.code == .unavailable)
            let turn = session.turn(after: head, state: "2")
            #expect(await journal.append(turn).failure == .unavailable)
            #expect(try await journal.state(session) == "1")
            try disk.remount(isReadOnly: false)
            try await journal.waitForTrouble(false)
            #expect(await journal.append(turn).isCommitted)
            #expect(try await journal.state(session) == "2")
            await journal.close()
        }
    }

    /// A disk in memory, of a few megabytes.
    final class SmallDisk: Sendable {
        /// The folder in which it is mounted.
        let folder: TemporaryFolder
        private let bytes: Int

        init(bytes: Int) throws {
            folder = try TemporaryFolder()
            self.bytes = bytes
            try #require(mount("tmpfs", folder.path, "tmpfs", 0, "size=\(bytes)") == 0)
        }

        deinit { umount2(folder.path, Int32(MNT_DETACH)) }

        func remount(isReadOnly: Bool) throws {
            let flags = UInt(MS_REMOUNT) | (isReadOnly ? UInt(MS_RDONLY) : 0)
            try #require(mount("tmpfs", folder.path, "tmpfs", flags, "size=\(bytes)") == 0)
        }

        static let canMount: Bool = {
            guard let folder = try? TemporaryFolder(), mount("tmpfs", folder.path, "tmpfs", 0, "size=4096") == 0 else {
                return false
            }
            umount2(folder.path, 0)
            return true
        }()
    }
#endif
