import MVI
import SessionJournal
import Testing

extension JournalCheck {
    static let removal: [JournalCheck] = [
        JournalCheck("the token of a removed session is remembered until its tombstone's time, and no longer") {
            journal in
            let log = try await journal.newLog()
            let token = log.record.tokenHash
            _ = try await journal.remove(log.key, tombstoneUntil: Sample.later).get()
            try await journal.reload()
            #expect(try await journal.load(token, now: Sample.later - .milliseconds(1)).get().isEnded)
            #expect(try await journal.load(token, now: Sample.later + .milliseconds(1)).get().isUnknown)
            // The expiry that deletes it changes no load, before its time or after.
            _ = try await journal.expire(lastSeenBefore: .zero, now: Sample.later - .milliseconds(2), limit: 10).get()
            #expect(try await journal.load(token, now: Sample.later - .milliseconds(1)).get().isEnded)
            _ = try await journal.expire(lastSeenBefore: .zero, now: Sample.later + .milliseconds(1), limit: 10).get()
            try await journal.reload()
            #expect(try await journal.load(token, now: Sample.later + .milliseconds(1)).get().isUnknown)
        },
        JournalCheck("a purge deletes all sessions of a subject, and no others") { journal in
            let gone = Sample.subject("gone")
            var logs: [Log] = []
            for (subject, isShared) in [(gone, true), (gone, false), (Sample.subject("kept"), false)] {
                var log = try await journal.newLog(
                    Sample.session(subject: subject, isShared: isShared), credential: .sample(1))
                try await journal.commit(
                    log.batch(.made(), labels: log.labels("a"), receipts: [Sample.receipt("key")]), to: &log)
                logs.append(log)
            }
            let other = try await journal.newLog(Sample.session(subject: Subject(issuer: "other", id: gone.id)))
            for _ in 0..<2 {
                _ = try await journal.purge(gone).get()
                try await journal.reload()
                #expect(try await journal.find(.subject(gone)).get() == [])
                for log in logs.prefix(2) {
                    #expect(try await journal.load(log.record.tokenHash).get().isEnded)
                    #expect(try await journal.export(log.record.id).get() == nil)
                    #expect(try await journal.append(log.batch(.changed())).failure == .gone)
                }
                #expect(try await journal.stored(logs[2]).stores.count == 1)
                _ = try await journal.stored(other)
            }
        },
        JournalCheck("nothing of a removed session is left, and what comes for it finds it gone") { journal in
            var log = try await journal.newLog()
            try await journal.commit(log.batch(.made(), labels: log.labels("a")), to: &log)
            _ = try await journal.remove(log.key, tombstoneUntil: Sample.muchLater).get()
            for _ in 0..<2 {
                try await journal.reload()
                #expect(try await journal.load(log.record.tokenHash).get().isEnded)
                #expect(try await journal.load(log.key, since: .empty).get() == nil)
                #expect(try await journal.loadStores([Sample.counter], of: log).get() == [])
                #expect(try await journal.export(log.record.id).get() == nil)
                #expect(try await journal.append(log.batch(.changed())).failure == .gone)
                #expect(try await journal.append(log.batch(receipts: [Sample.receipt("key")])).failure == .gone)
                let touch = SessionTouch(session: log.key, lastSeen: Sample.later, written: [])
                #expect(try await journal.touch([touch]).failure == nil)
            }
        },
        JournalCheck("removing a session that is gone, or that never was, succeeds, and it stays gone") { journal in
            let log = try await journal.newLog()
            #expect(try await journal.remove(log.key, tombstoneUntil: Sample.later).failure == nil)
            #expect(try await journal.remove(log.key, tombstoneUntil: Sample.later).failure == nil)
            let never = Log(key: SessionKey(987_654_321), record: Sample.session())
            #expect(try await journal.remove(never.key, tombstoneUntil: Sample.later).failure == nil)
            #expect(try await journal.append(never.batch(.made())).failure == .gone)
            #expect(try await journal.load(never.key, since: .empty).get() == nil)
            try await journal.reload()
            #expect(try await journal.load(log.record.tokenHash, now: Sample.start).get().isEnded)
        },
        JournalCheck("a key is never assigned twice, not even the last one after its session's removal") {
            journal in
            var gone: [Log] = []
            for _ in 0..<4 {
                let log = try await journal.newLog()
                #expect(!gone.contains { $0.key == log.key })
                gone.append(log)
                _ = try await journal.remove(log.key, tombstoneUntil: Sample.later).get()
                try await journal.reload()
            }
            let newest = try await journal.newLog()
            #expect(!gone.contains { $0.key == newest.key })
            for log in gone { #expect(try await journal.append(log.batch(.made())).failure == .gone) }
            #expect(try await journal.stored(newest).stores.isEmpty)
        },
        JournalCheck("a session with the id and token of a removed one starts with nothing of it") { journal in
            var old = try await journal.newLog()
            let receipts = [Sample.receipt("key"), Sample.receipt(sequence: 1, epoch: "e")]
            try await journal.commit(
                old.batch(.made(), labels: old.labels("a"), receipts: receipts), to: &old)
            _ = try await journal.remove(old.key, tombstoneUntil: Sample.start).get()
            // Its token is no longer remembered.
            _ = try await journal.expire(lastSeenBefore: .zero, limit: 1).get()
            var log = try await journal.newLog(old.record)
            try await journal.reload()
            let export = try await journal.exported(log)
            #expect(export.session.key == log.key && log.key != old.key)
            #expect(export.session.head == .empty)
            #expect(export.stores.isEmpty && export.session.labels.isEmpty && export.session.receipts.isEmpty)
            #expect(try await journal.append(old.batch(.made())).failure == .gone)
            try await journal.commit(log.batch(.made(), receipts: receipts), to: &log)
        },
        JournalCheck("removing one session leaves the others as they are") { journal in
            var kept = try await journal.newLog()
            var removed = try await journal.newLog()
            let receipts = [Sample.receipt("key"), Sample.receipt(sequence: 1, epoch: "e")]
            try await journal.commit(kept.batch(.made(), labels: kept.labels("a"), receipts: receipts), to: &kept)
            try await journal.commit(
                removed.batch(.made(), labels: removed.labels("a"), receipts: receipts), to: &removed)
            let before = try await journal.picture(kept)
            _ = try await journal.remove(removed.key, tombstoneUntil: Sample.later).get()
            try await journal.reload()
            #expect(try await journal.picture(kept) == before)
        },
    ]
}
