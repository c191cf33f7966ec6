import SessionJournal
import Testing

extension JournalCheck {
    static let stores: [JournalCheck] = [
        JournalCheck("a store is loaded as it was appended") { journal in
            let (key, record) = try await journal.newSession()
            let token = StoreToken(version: 7, nonce: .max)
            var append = JournalAppend.turns(
                key, from: nil, to: token, state: #"{"count":1}"#, view: #"{"text":"1"}"#, viewIntent: "intent-1")
            append.store?.schemaVersion = 3
            append.store?.marks.droppedSequence = 5
            append.store?.marks.hasLabels = true
            append.store?.marks.hasUnheard = true
            #expect(try await journal.commit(append) == 1)
            try await journal.reload()
            let store = try await journal.store(of: key)
            #expect(store.summary.feature == Sample.counter)
            #expect(store.summary.token == token)
            #expect(store.summary.marks == append.store?.marks)
            #expect(store.summary.replacedSequence == 0)
            #expect(store.schemaVersion == 3)
            #expect(store.state == Sample.bytes(#"{"count":1}"#))
            #expect(store.view == Sample.bytes(#"{"text":"1"}"#))
            #expect(store.viewIntent == "intent-1")
            #expect(try await journal.stored(record).stores == [store.summary])
        },
        JournalCheck("only the stores that are asked for and that there are come back") { journal in
            let (key, record) = try await journal.newSession()
            for number in 1...3 {
                try await journal.commit(
                    .turns(key, Sample.feature(number), from: nil, to: .next(), state: "\(number)"))
            }
            try await journal.reload()
            let asked = [Sample.feature(3), Sample.feature(4), Sample.feature(1), Sample.counter]
            let stores = try await journal.loadStores(asked, of: key).get()
            #expect(Set(stores.map(\.summary.feature)) == [Sample.feature(1), Sample.feature(3)])
            #expect(Set(stores.map(\.state)) == [Sample.bytes("1"), Sample.bytes("3")])
            #expect(try await journal.loadStores([], of: key).get() == [])
            #expect(
                Set(try await journal.stored(record).stores.map(\.feature)) == Set((1...3).map(Sample.feature)))
        },
        JournalCheck("a token is taken once: the second append with it is a conflict") { journal in
            let (key, _) = try await journal.newSession()
            let (first, second) = (StoreToken.next(1), StoreToken.next(2))
            try await journal.commit(.turns(key, from: nil, to: first))
            #expect(try await journal.commit(.turns(key, from: first, to: second, state: "2")) == 2)
            #expect(try await journal.append(.turns(key, from: first, to: .next(2), state: "3")).isConflict)
            try await journal.reload()
            #expect(try await journal.append(.turns(key, from: first, to: .next(2), state: "4")).isConflict)
            let store = try await journal.store(of: key)
            #expect(store.summary.token == second)
            #expect(store.state == Sample.bytes("2"))
            #expect(try await journal.commit(.turns(key, from: second, to: .next(3))) == 3)
        },
        JournalCheck("a token is the version and the random bits, all of them") { journal in
            let (key, _) = try await journal.newSession()
            let token = StoreToken(version: 5, nonce: 0x8000_0000_0000_0001)
            try await journal.commit(.turns(key, from: nil, to: token))
            try await journal.reload()
            for other in [
                StoreToken(version: 5, nonce: 0x8000_0000_0000_0000), StoreToken(version: 5, nonce: 1),
                StoreToken(version: 4, nonce: token.nonce), StoreToken(version: 5, nonce: ~token.nonce),
            ] {
                #expect(try await journal.append(.turns(key, from: other, to: .next(6))).isConflict)
            }
            #expect(try await journal.commit(.turns(key, from: token, to: .next(6))) == 2)
        },
        JournalCheck("a store that is there cannot be started, and one that is not cannot be gone on with") { journal in
            let (key, record) = try await journal.newSession()
            #expect(try await journal.append(.turns(key, from: .next(), to: .next())).isConflict)
            #expect(try await journal.stored(record).stores.isEmpty)
            try await journal.commit(.turns(key, from: nil, to: .next(), state: "1"))
            try await journal.reload()
            #expect(try await journal.append(.turns(key, from: nil, to: .next(), state: "2")).isConflict)
            #expect(try await journal.store(of: key).state == Sample.bytes("1"))
        },
        JournalCheck("what an append does not bring stays: state, view state and its intent") { journal in
            let (key, _) = try await journal.newSession()
            var token = StoreToken.next()
            try await journal.commit(.turns(key, from: nil, to: token, state: "1", view: "1", viewIntent: "i1"))
            /// Appends and tells what is kept then.
            func after(_ state: String?, _ view: String?, _ intent: String?) async throws -> [String] {
                let next = StoreToken.next(token.version + 1)
                try await journal.commit(
                    .turns(key, from: token, to: next, state: state, view: view, viewIntent: intent))
                token = next
                try await journal.reload()
                let store = try await journal.store(of: key)
                #expect(store.summary.token == token)
                return [
                    String(decoding: store.state, as: UTF8.self), String(decoding: store.view, as: UTF8.self),
                    store.viewIntent ?? "none",
                ]
            }
            #expect(try await after(nil, nil, nil) == ["1", "1", "i1"])
            #expect(try await after("2", nil, nil) == ["2", "1", "i1"])
            #expect(try await after(nil, "3", "i3") == ["2", "3", "i3"])
            #expect(try await after("4", nil, "i4") == ["4", "3", "i3"])
            #expect(try await after("5", "5", nil) == ["5", "5", "none"])
        },
        JournalCheck("a new state has its new schema version, and marks are those of the last append") { journal in
            let (key, record) = try await journal.newSession()
            let token = StoreToken.next()
            try await journal.commit(.turns(key, from: nil, to: token, state: "1"))
            var append = JournalAppend.turns(key, from: token, to: .next(2), state: "2")
            append.store?.schemaVersion = 2
            append.store?.marks.droppedSequence = 1
            append.store?.marks.hasUnheard = true
            try await journal.commit(append)
            try await journal.reload()
            #expect(try await journal.store(of: key).schemaVersion == 2)
            #expect(try await journal.stored(record).stores.map(\.marks) == [append.store?.marks])
        },
        JournalCheck("a removed store is gone: its token is of no use, and a new one may start in its place") {
            journal in
            let (key, record) = try await journal.newSession()
            let (old, other) = (StoreToken.next(4), StoreToken.next())
            try await journal.commit(
                .turns(key, from: nil, to: old, state: "old", viewIntent: "i", turns: [Sample.turn("a")]))
            try await journal.commit(.turns(key, Sample.feature(1), from: nil, to: other, state: "other"))
            var marks = SessionMarks()
            marks.versionFloor = 4
            marks.hasLabels = true
            _ = try await journal.removeStore(Sample.counter, of: key, marks: marks).get()
            try await journal.reload()
            #expect(try await journal.append(.turns(key, from: old, to: .next(5))).isConflict)
            let session = try await journal.stored(record)
            #expect(session.stores.map(\.feature) == [Sample.feature(1)])
            #expect(session.marks == marks)
            #expect(session.labels.count == 1, "labels outlive their store")
            #expect(try await journal.loadStores([Sample.counter], of: key).get() == [])
            #expect(try await journal.store(Sample.feature(1), of: key).state == Sample.bytes("other"))

            #expect(try await journal.commit(.turns(key, from: nil, to: .next(5), state: "new")) == 3)
            try await journal.reload()
            let new = try await journal.store(of: key)
            #expect(new.state == Sample.bytes("new"))
            #expect(new.viewIntent == nil)
            #expect(try await journal.append(.turns(key, from: old, to: .next(5))).isConflict)
            #expect(try await journal.commit(.turns(key, Sample.feature(1), from: other, to: .next())) == 4)
        },
        JournalCheck("removing a store that is not there succeeds, and the marks are kept") { journal in
            let (key, record) = try await journal.newSession()
            var marks = SessionMarks()
            marks.versionFloor = 9
            marks.droppedSequence = 8
            marks.hasUnheard = true
            #expect(try await journal.removeStore(Sample.counter, of: key, marks: marks).failure == nil)
            try await journal.reload()
            #expect(try await journal.stored(record).marks == marks)
        },
        JournalCheck("a state that is set aside is kept beside the store that starts in its place") { journal in
            let (key, record) = try await journal.newSession()
            let (first, second, third) = (StoreToken.next(1), StoreToken.next(2), StoreToken.next(3))
            try await journal.commit(.turns(key, from: nil, to: first, state: "unreadable"))
            var append = JournalAppend.turns(
                key, from: first, to: second, state: "new", view: "new", turns: [Sample.turn(), Sample.turn()],
                time: Sample.later)
            append.store?.schemaVersion = 2
            append.store?.setsAside = "no migration"
            #expect(try await journal.commit(append) == 2)
            try await journal.reload()
            let store = try await journal.store(of: key)
            #expect(store.summary.replacedSequence == 2)
            #expect(store.summary.token == second)
            #expect(store.state == Sample.bytes("new") && store.view == Sample.bytes("new"))
            #expect(store.schemaVersion == 2)
            var aside = SetAsideState(
                feature: Sample.counter, schemaVersion: 1, state: Sample.bytes("unreadable"), reason: "no migration",
                time: Sample.later)
            #expect(try await journal.exported(record).setAside == [aside])

            #expect(try await journal.commit(.turns(key, from: second, to: third, state: "newer")) == 4)
            try await journal.reload()
            #expect(try await journal.store(of: key).summary.replacedSequence == 2)
            var stale = JournalAppend.turns(key, from: second, to: .next(3))
            stale.store?.setsAside = "too late"
            #expect(try await journal.append(stale).isConflict)
            #expect(try await journal.exported(record).setAside == [aside])

            var again = JournalAppend.turns(key, from: third, to: .next(4))
            again.store?.setsAside = "again"
            #expect(try await journal.commit(again) == 5)
            try await journal.reload()
            #expect(try await journal.stored(record).stores.map(\.replacedSequence) == [5])
            aside.state = Sample.bytes("newer")
            let asides = try await journal.exported(record).setAside
            #expect(asides.map(\.state) == [Sample.bytes("unreadable"), Sample.bytes("newer")])
            #expect(asides.map(\.reason) == ["no migration", "again"])
        },
    ]
}
