import SessionJournal
import Testing

extension JournalCheck {
    static let stores: [JournalCheck] = [
        JournalCheck("a store is loaded as it was appended") { journal in
            var log = try await journal.newLog()
            var change = StoreChange(
                feature: Sample.counter, kind: .made, number: 4, version: 3, made: 2, schemaVersion: 3,
                state: Sample.bytes(#"{"count":1}"#), view: Sample.bytes(#"{"text":"1"}"#), viewIntent: "intent-1")
            var batch = log.batch(turns: 5)
            batch.stores = [change]
            try await journal.commit(batch, to: &log)
            try await journal.reload()
            var store = try await journal.store(of: log)
            #expect(
                store.summary == StoreSummary(feature: Sample.counter, number: 4, version: 3, made: 2, replaced: 0))
            #expect(store.schemaVersion == 3)
            #expect(store.state == change.state && store.view == change.view)
            #expect(store.viewIntent == "intent-1")
            #expect(try await journal.stored(log).stores == [store.summary])

            // The view state is unchanged, and so is the version.
            change.kind = .changed
            change.number = 6
            change.view = nil
            batch = log.batch()
            batch.stores = [change]
            try await journal.commit(batch, to: &log)
            try await journal.reload()
            store = try await journal.store(of: log)
            #expect(
                store.summary == StoreSummary(feature: Sample.counter, number: 6, version: 3, made: 2, replaced: 0))
            #expect(store.viewIntent == "intent-1")
        },
        JournalCheck("only the stores that are asked for and that there are come back") { journal in
            var log = try await journal.newLog()
            for number in 1...3 {
                try await journal.commit(log.batch(.made(Sample.feature(number), "\(number)")), to: &log)
            }
            try await journal.reload()
            let asked = [Sample.feature(3), Sample.feature(4), Sample.feature(1), Sample.counter]
            let stores = try await journal.loadStores(asked, of: log).get()
            #expect(Set(stores.map(\.summary.feature)) == [Sample.feature(1), Sample.feature(3)])
            #expect(Set(stores.map(\.state)) == [Sample.bytes("1"), Sample.bytes("3")])
            #expect(try await journal.loadStores([], of: log).get() == [])
            let marked = try await journal.loadMarkedStores([asked[0], Sample.feature(99)], of: log).get()
            #expect(marked.mark?.head == log.head && marked.mark?.token == log.record.tokenHash)
            #expect(marked.mark?.epoch == log.record.epoch)
            let without = try await journal.loadMarkedStores([Sample.feature(99)], of: log).get()
            #expect(without.mark == marked.mark && without.stores == [])
            #expect(
                Set(try await journal.stored(log).stores.map(\.feature)) == Set((1...3).map { Sample.feature($0) }))
        },
        JournalCheck("what a change does not bring stays: state, view state and its intent") { journal in
            var log = try await journal.newLog()
            try await journal.commit(log.batch(.sample(.made, state: "1", view: "1", viewIntent: "i1")), to: &log)
            /// Appends and returns the stored values.
            func after(_ state: String?, _ view: String?, _ intent: String?) async throws -> [String] {
                var change = StoreChange.sample(.changed, state: state, view: view, viewIntent: intent)
                change.schemaVersion = state == nil ? 99 : 1
                try await journal.commit(log.batch(change), to: &log)
                try await journal.reload()
                let store = try await journal.store(of: log)
                #expect(store.schemaVersion == 1 && store.summary.number == log.head.number)
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
            var change = StoreChange.changed(Sample.counter, "6")
            change.schemaVersion = 2
            try await journal.commit(log.batch(change), to: &log)
            try await journal.reload()
            #expect(try await journal.store(of: log).schemaVersion == 2)
        },
        JournalCheck("a disposed store is gone, and a new one may start in its place") { journal in
            var log = try await journal.newLog()
            let labels = log.labels("a")
            try await journal.commit(
                log.batch(.sample(.made, state: "old", viewIntent: "i"), labels: labels), to: &log)
            try await journal.commit(log.batch(.made(Sample.feature(1), "other")), to: &log)
            try await journal.commit(log.batch(.disposed()), to: &log)
            try await journal.reload()
            let session = try await journal.stored(log)
            #expect(session.head == log.head)
            #expect(session.stores.map(\.feature) == [Sample.feature(1)])
            #expect(session.labels == labels, "labels outlive their store")
            #expect(try await journal.loadStores([Sample.counter], of: log).get() == [])
            #expect(try await journal.store(Sample.feature(1), of: log).state == Sample.bytes("other"))

            try await journal.commit(log.batch(.made(Sample.counter, "new")), to: &log)
            try await journal.reload()
            let new = try await journal.store(of: log)
            #expect(new.state == Sample.bytes("new") && new.viewIntent == nil)
            #expect(new.summary.made == 4 && new.summary.replaced == 0)
        },
        JournalCheck("one batch changes several stores: one is made, one goes on, one is gone, one starts over") {
            journal in
            var log = try await journal.newLog()
            let features = (0...4).map { Sample.feature($0) }
            try await journal.commit(
                log.batch(
                    .made(features[1], "1"), .made(features[2], "2"),
                    .sample(.made, features[3], state: "3", viewIntent: "i"), .made(features[4], "4")), to: &log)
            var batch = log.batch(
                .made(features[0], "new"), .changed(features[1], "changed"), .disposed(features[2]),
                .made(features[3], "over"), turns: 4)
            for index in 0..<4 {
                let number = log.head.number + UInt64(index) + 1
                batch.stores[index].number = number
                batch.stores[index].version = number
                if batch.stores[index].kind == .made { batch.stores[index].made = number }
            }
            batch.stores[1].made = 1
            try await journal.commit(batch, to: &log)
            try await journal.reload()
            #expect(try await journal.stored(log).head == log.head)
            let stores = try await journal.loadStores(features, of: log).get()
                .sorted { $0.summary.feature.text < $1.summary.feature.text }
            #expect(
                stores.map(\.summary) == [
                    StoreSummary(feature: features[0], number: 2, version: 2, made: 2, replaced: 0),
                    StoreSummary(feature: features[1], number: 3, version: 3, made: 1, replaced: 0),
                    StoreSummary(feature: features[3], number: 5, version: 5, made: 5, replaced: 0),
                    StoreSummary(feature: features[4], number: 1, version: 1, made: 1, replaced: 0),
                ])
            #expect(stores.map(\.state) == ["new", "changed", "over", "4"].map(Sample.bytes))
            #expect(stores[2].viewIntent == nil, "nothing of the store before is left")
        },
        JournalCheck("a state that is set aside is kept beside the store that starts in its place") { journal in
            var log = try await journal.newLog()
            try await journal.commit(log.batch(.made(Sample.counter, "unreadable")), to: &log)
            var change = StoreChange.sample(.made, state: "new", view: "new", setsAside: "no migration")
            change.schemaVersion = 2
            var batch = log.batch(change, turns: 2, time: Sample.later)
            batch.stores[0].made = 2
            try await journal.commit(batch, to: &log)
            try await journal.reload()
            let store = try await journal.store(of: log)
            #expect(
                store.summary == StoreSummary(feature: Sample.counter, number: 3, version: 3, made: 2, replaced: 2))
            #expect(store.state == Sample.bytes("new") && store.view == Sample.bytes("new"))
            #expect(store.schemaVersion == 2)
            var aside = SetAsideState(
                feature: Sample.counter, schemaVersion: 1, state: Sample.bytes("unreadable"), reason: "no migration",
                time: Sample.later)
            #expect(try await journal.exported(log).setAside == [aside])

            let stale = log.batch(.sample(.made, setsAside: "too late"))
            try await journal.commit(log.batch(.changed(Sample.counter, "newer")), to: &log)
            try await journal.reload()
            #expect(try await journal.store(of: log).summary.replaced == 2)
            #expect(try await journal.append(stale).isConflict)
            #expect(try await journal.exported(log).setAside == [aside])

            try await journal.commit(log.batch(.sample(.made, setsAside: "again")), to: &log)
            try await journal.reload()
            #expect(try await journal.stored(log).stores.map(\.replaced) == [5])
            aside.schemaVersion = 1
            aside.state = Sample.bytes("newer")
            let asides = try await journal.exported(log).setAside
            #expect(asides.map(\.state) == [Sample.bytes("unreadable"), Sample.bytes("newer")])
            #expect(asides.map(\.reason) == ["no migration", "again"])
            // Without that, a store that starts over replaces nothing.
            try await journal.commit(log.batch(.made()), to: &log)
            try await journal.reload()
            #expect(try await journal.stored(log).stores.map(\.replaced) == [0])
        },
        JournalCheck("a state that is set aside by a change is kept beside the store that goes on") { journal in
            var log = try await journal.newLog()
            try await journal.commit(log.batch(.made(), .made(Sample.feature(1), "other")), to: &log)
            let changes = [
                StoreChange.sample(.changed, state: "new", setsAside: "lost a"),
                .sample(.changed, Sample.feature(1), state: "new", setsAside: "lost b"),
            ]
            var batch = log.batch(changes[0], changes[1], turns: 2, time: Sample.later)
            // Each change has its own turn's number.
            batch.stores[0].number -= 1
            batch.stores[0].version -= 1
            let stale = batch
            try await journal.commit(batch, to: &log)
            try await journal.reload()
            #expect(try await journal.store(of: log).state == Sample.bytes("new"))
            #expect(try await journal.stored(log).stores.map(\.replaced) == [0, 0])
            let asides = try await journal.exported(log).setAside
            #expect(asides.map(\.feature) == [Sample.counter, Sample.feature(1)])
            #expect(asides.map(\.reason) == ["lost a", "lost b"])
            #expect(asides[1].state == Sample.bytes("other") && asides[1].time == Sample.later)
            #expect(try await journal.append(stale).isConflict)
            #expect(try await journal.exported(log).setAside == asides)
        },
    ]
}
