import MVI
import SessionJournal
import Testing

extension JournalCheck {
    static let closing: [JournalCheck] = [
        JournalCheck("a journal that works is in no trouble, one that is closed says so") { journal in
            #expect(journal.journal.trouble == nil)
            await journal.close()
            #expect(journal.journal.trouble?.code == .closed)
        },
        JournalCheck("after closing, every call fails with the code closed") { journal in
            let log = try await journal.newLogWithStore()
            await journal.close()
            #expect(try await journal.append(log.batch(.changed())).failure == .closed)
            #expect(try await journal.create(Sample.session()).failure == .closed)
            let change = CredentialChange(session: log.key, expecting: nil, subject: nil)
            #expect(try await journal.change(change).failure == .closed)
            #expect(try await journal.remove(log.key, tombstoneUntil: Sample.later).failure == .closed)
            let touch = SessionTouch(session: log.key, lastSeen: Sample.later, written: [])
            #expect(try await journal.touch([touch]).failure == .closed)
            #expect(try await journal.expire(lastSeenBefore: .zero, limit: 1).failure == .closed)
            #expect(try await journal.reclaim(lastSeenBefore: .zero, usedFor: .zero, limit: 1).failure == .closed)
            #expect(try await journal.load(log.record.tokenHash).failure == .closed)
            #expect(try await journal.load(log.key, since: .empty).failure == .closed)
            #expect(try await journal.loadStores([Sample.counter], of: log).failure == .closed)
            #expect(try await journal.find(.id(log.record.id)).failure == .closed)
            #expect(try await journal.alarms().failure == .closed)
            #expect(try await journal.export(log.record.id).failure == .closed)
            // A second call has no effect.
            await journal.close()
        },
        JournalCheck("calls before closing are done and answered") { journal in
            var log = try await journal.newLogWithStore()
            let other = try await journal.newLog()
            let (key, otherKey, token) = (log.key, other.key, log.record.tokenHash)
            let answers = (0..<100).map { _ in
                let batch = log.batch(.changed())
                log.head = batch.head
                return journal.startAppend(batch)
            }
            let removal: Answer<Result<Void, StoreError>> = journal.start("remove") {
                $0.remove(otherKey, tombstoneUntil: Sample.muchLater, done: $1)
            }
            let load: Answer<Result<SessionLoad, StoreError>> = journal.start("load") {
                $0.load(token, now: Sample.later, done: $1)
            }
            let news: Answer<Result<StoredSession?, StoreError>> = journal.start("load since") {
                $0.load(key, since: .empty, done: $1)
            }
            await journal.close()
            // Not after the results: accepted calls are complete when `close` returns.
            if try await journal.reopen() {
                #expect(try await journal.stored(log).head == log.head)
                #expect(try await journal.load(other.record.tokenHash).get().isEnded)
            }
            for answer in answers { #expect(try await answer.value.isCommitted) }
            _ = try await removal.value.get()
            guard case .found(let session) = try await load.value.get() else { throw CheckCannotGoOn() }
            #expect(session.head == log.head)
            #expect(try await news.value.get()?.head == log.head)
        },
    ]
}
