import Locking
import SessionJournal
import Testing

extension JournalCheck {
    static let order: [JournalCheck] = [
        JournalCheck("of many appends at once the bad ones are refused and all others are kept") { journal in
            var sessions: [(key: SessionKey, record: SessionRecord)] = []
            for _ in 0..<40 { sessions.append(try await journal.newSession()) }
            let token = StoreToken.next()
            let known = Sample.receipt("known", version: 9)
            for session in sessions {
                try await journal.commit(.turns(session.key, from: nil, to: token, state: "1", receipts: [known]))
            }
            _ = try await journal.remove(sessions[7].key, tombstoneUntil: Sample.muchLater).get()
            let appends = sessions.enumerated().map { index, session in
                var append = JournalAppend.turns(
                    session.key, from: token, to: .next(2), state: "2", turns: [Sample.turn("a")],
                    receipts: [Sample.receipt("new")])
                switch index {
                case 3, 21: append.store?.expecting = .next()
                case 11, 39: append.receipts.append(known)
                case 30: append.store?.expecting = nil
                default: break
                }
                return append
            }
            let answers = appends.map { journal.startAppend($0) }
            var results: [AppendResult] = []
            for answer in answers { results.append(try await answer.value) }
            try await journal.reload()
            for (index, session) in sessions.enumerated() {
                switch index {
                case 7: #expect(results[index].failure?.code == .gone)
                case 3, 21, 30: #expect(results[index].isConflict)
                case 11, 39: #expect(results[index].duplicate == known)
                default: #expect(results[index].sequence == 2)
                }
                guard index != 7 else { continue }
                let isKept = results[index].sequence != nil
                let stored = try await journal.stored(session.record)
                #expect(stored.sequence == (isKept ? 2 : 1))
                #expect(stored.labels.count == (isKept ? 1 : 0))
                #expect(stored.receipts.count == (isKept ? 2 : 1))
                #expect(try await journal.store(of: session.key).state == Sample.bytes(isKept ? "2" : "1"))
            }
        },
        JournalCheck("of a row of appends to one store those after a conflict go on where it was") { journal in
            let (key, record) = try await journal.newSession()
            let tokens = (0...6).map { StoreToken.next(UInt64($0)) }
            let rows: [(old: StoreToken?, new: StoreToken, state: String)] = [
                (nil, tokens[0], "0"), (tokens[0], tokens[1], "1"), (tokens[0], tokens[5], "conflict"),
                (tokens[5], tokens[6], "after a conflict"), (tokens[1], tokens[2], "2"), (tokens[2], tokens[3], "3"),
            ]
            let answers = rows.map { row in
                journal.startAppend(
                    .turns(key, from: row.old, to: row.new, state: row.state, turns: [Sample.turn(row.state)]))
            }
            var sequences: [UInt64?] = []
            for answer in answers { sequences.append(try await answer.value.sequence) }
            #expect(sequences == [1, 2, nil, nil, 3, 4])
            try await journal.reload()
            #expect(try await journal.store(of: key).state == Sample.bytes("3"))
            #expect(try await journal.stored(record).labels.map(\.id.sequence) == [1, 2, 3, 4])
        },
        JournalCheck("what was handed over first is done first, and answered first within its session") { journal in
            let (key, record) = try await journal.newSession()
            let answered = Lock<[UInt64]>([])
            var answers: [Answer<AppendResult>] = []
            var tokens: [FeatureID: StoreToken] = [:]
            for number in 0..<1_000 {
                let (feature, next) = (Sample.feature(number % 3), StoreToken.next(UInt64(number)))
                let answer = Answer<AppendResult> {}
                let done = { @Sendable (result: AppendResult) in
                    answered.withLock { $0.append(result.sequence ?? 0) }
                    answer.give(result)
                }
                let append = JournalAppend.turns(key, feature, from: tokens[feature], to: next, state: "\(number)")
                if let result = journal.journal.append(append, done: done) { done(result) }
                tokens[feature] = next
                answers.append(answer)
            }
            for answer in answers { _ = try await answer.value }
            #expect(answered.withLock { $0 } == Array(1...1_000))
            try await journal.reload()
            #expect(try await journal.stored(record).sequence == 1_000)
            #expect(try await journal.store(Sample.feature(2), of: key).state == Sample.bytes("998"))
        },
        JournalCheck("a call sees what was handed over before it, whatever the calls are") { journal in
            let (key, record) = try await journal.newSession()
            let (other, otherRecord) = try await journal.newSession()
            let token = StoreToken.next()
            var marks = SessionMarks()
            marks.versionFloor = 1
            // No change is waited for before the next call.
            let first = journal.startAppend(.turns(key, from: nil, to: token, state: "1", turns: [Sample.turn("a")]))
            let touch: Answer<Result<Void, JournalFailure>> = journal.start("touch") {
                let written = [LabelID(sequence: 1, index: 0)]
                $0.touch([SessionTouch(session: key, lastSeen: Sample.later, written: written)], done: $1)
            }
            let load: Answer<Result<SessionLoad, JournalFailure>> = journal.start("load") {
                $0.load(record.tokenHash, now: Sample.later, done: $1)
            }
            let stores: Answer<Result<[StoredStore], JournalFailure>> = journal.start("loadStores") {
                $0.loadStores([Sample.counter], of: key, done: $1)
            }
            // A read may see what is handed over before its answer, so what takes away is handed over after that.
            guard case .found(let found) = try await load.value.get() else { throw CheckCannotGoOn() }
            #expect(found.sequence == 1 && found.stores.map(\.token) == [token])
            #expect(found.record.lastSeen == Sample.later && found.labels.map(\.isWritten) == [true])
            #expect(try await stores.value.get().map(\.state) == [Sample.bytes("1")])
            let removal: Answer<Result<Void, JournalFailure>> = journal.start("removeStore") {
                $0.removeStore(Sample.counter, of: key, marks: marks, done: $1)
            }
            let second = journal.startAppend(.turns(key, from: token, to: .next(2)))
            let export: Answer<Result<SessionExport?, JournalFailure>> = journal.start("export") {
                $0.export(record.id, done: $1)
            }
            let end: Answer<Result<Void, JournalFailure>> = journal.start("remove") {
                $0.remove(other, tombstoneUntil: Sample.muchLater, done: $1)
            }
            let late = journal.startAppend(.receipts(other, Sample.receipt("late")))
            let ended: Answer<Result<SessionLoad, JournalFailure>> = journal.start("load") {
                $0.load(otherRecord.tokenHash, now: Sample.later, done: $1)
            }

            #expect(try await first.value.sequence == 1)
            _ = try await touch.value.get()
            _ = try await removal.value.get()
            #expect(try await second.value.isConflict)
            let exported = try #require(try await export.value.get())
            #expect(exported.stores.isEmpty && exported.session.marks == marks)
            _ = try await end.value.get()
            #expect(try await late.value.failure?.code == .gone)
            #expect(try await ended.value.get().isEnded)
        },
        JournalCheck("whoever is answered may hand over the next append there and then") { journal in
            let (key, record) = try await journal.newSession()
            let end = Answer<AppendResult> {}
            appendRow(to: journal.journal, key, from: nil, left: 100, end: end)
            #expect(try await end.value.sequence == 100)
            try await journal.reload()
            #expect(try await journal.stored(record).stores.map(\.token.version) == [100])
        },
        JournalCheck("whoever is answered may make any call there and then, whatever the answer was to") { journal in
            let (key, record) = try await journal.newSession()
            let feature = Sample.counter
            let calls: [@Sendable (any Journal, @escaping @Sendable () -> Void) -> Void] = [
                { $0.create(Sample.session()) { [done = $1] _ in done() } },
                { $0.load(record.tokenHash, now: Sample.later) { [done = $1] _ in done() } },
                { $0.loadStores([feature], of: key) { [done = $1] _ in done() } },
                { $0.export(record.id) { [done = $1] _ in done() } },
                {
                    $0.touch([SessionTouch(session: key, lastSeen: Sample.later, written: [])]) {
                        [done = $1] _ in done()
                    }
                },
                { $0.removeStore(feature, of: key, marks: SessionMarks()) { [done = $1] _ in done() } },
                {
                    $0.expire(
                        lastSeenBefore: .zero, now: Sample.later, tombstoneUntil: Sample.later, limit: 10
                    ) { [done = $1] _ in done() }
                },
                { journal, done in
                    let append = JournalAppend.turns(key, from: nil, to: .next())
                    if journal.append(append, done: { _ in done() }) != nil { done() }
                },
                { $0.remove(SessionKey(987_654_321), tombstoneUntil: .zero) { [done = $1] _ in done() } },
            ]
            for outer in calls {
                for inner in calls {
                    let end = Answer<Bool> {}
                    outer(journal.journal) { [journal = journal.journal] in inner(journal) { end.give(true) } }
                    #expect(try await end.value)
                }
            }
        },
    ]

    /// Appends, and again from within the answer, until none is left.
    private static func appendRow(
        to journal: any Journal, _ key: SessionKey, from token: StoreToken?, left: Int, end: Answer<AppendResult>
    ) {
        let next = StoreToken.next((token?.version ?? 0) + 1)
        let goOn = { @Sendable (result: AppendResult) in
            guard left > 1, result.sequence != nil else { return end.give(result) }
            appendRow(to: journal, key, from: next, left: left - 1, end: end)
        }
        if let result = journal.append(.turns(key, from: token, to: next), done: goOn) { goOn(result) }
    }
}
