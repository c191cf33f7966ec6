import SessionJournal
import Testing

extension JournalCheck {
    static let closing: [JournalCheck] = [
        JournalCheck("a journal that works is in no trouble, one that is closed says so") { journal in
            #expect(journal.journal.trouble == nil)
            await journal.close()
            #expect(journal.journal.trouble?.code == .closed)
        },
        JournalCheck("after it was closed every call fails, for it is closed") { journal in
            let (key, record) = try await journal.newSession()
            let token = StoreToken.next()
            try await journal.commit(.turns(key, from: nil, to: token))
            await journal.close()
            #expect(try await journal.append(.turns(key, from: token, to: .next(2))).failure?.code == .closed)
            #expect(try await journal.create(Sample.session()).failure?.code == .closed)
            #expect(try await journal.removeStore(Sample.counter, of: key).failure?.code == .closed)
            #expect(try await journal.remove(key, tombstoneUntil: Sample.later).failure?.code == .closed)
            #expect(
                try await journal.touch([SessionTouch(session: key, lastSeen: Sample.later, written: [])]).failure?
                    .code == .closed)
            #expect(try await journal.expire(lastSeenBefore: .zero, limit: 1).failure?.code == .closed)
            #expect(try await journal.load(record.tokenHash).failure?.code == .closed)
            #expect(try await journal.loadStores([Sample.counter], of: key).failure?.code == .closed)
            #expect(try await journal.export(record.id).failure?.code == .closed)
            // A second time does no harm.
            await journal.close()
        },
        JournalCheck("what was handed over before the end is done and answered") { journal in
            let (key, record) = try await journal.newSession()
            let (other, otherRecord) = try await journal.newSession()
            let tokens = (0..<100).map { StoreToken.next(UInt64($0)) }
            let answers = tokens.indices.map { index in
                journal.startAppend(.turns(key, from: index == 0 ? nil : tokens[index - 1], to: tokens[index]))
            }
            let removal: Answer<Result<Void, JournalFailure>> = journal.start("remove") {
                $0.remove(other, tombstoneUntil: Sample.muchLater, done: $1)
            }
            let load: Answer<Result<SessionLoad, JournalFailure>> = journal.start("load") {
                $0.load(record.tokenHash, now: Sample.later, done: $1)
            }
            await journal.close()
            // Not after the answers: what was handed over is done when `close` returns.
            if try await journal.reopen() {
                #expect(try await journal.stored(record).sequence == 100)
                #expect(try await journal.load(otherRecord.tokenHash).get().isEnded)
            }
            for (index, answer) in answers.enumerated() {
                #expect(try await answer.value.sequence == UInt64(index) + 1)
            }
            _ = try await removal.value.get()
            guard case .found(let session) = try await load.value.get() else { throw CheckCannotGoOn() }
            #expect(session.sequence == 100)
        },
    ]
}
