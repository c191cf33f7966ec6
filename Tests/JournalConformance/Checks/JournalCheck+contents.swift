import SessionJournal
import Testing

extension JournalCheck {
    static let contents: [JournalCheck] = [
        JournalCheck("empty values are loaded as empty values") { journal in
            var log = try await journal.newLog()
            var batch = log.batch(
                .sample(.made, state: "", view: "", viewIntent: ""),
                receipts: [Sample.receipt(.sequence(0, epoch: ""), outcome: .refused(status: 400, body: []))],
                time: .zero)
            batch.labels = [
                StoredLabel(
                    id: LabelID(number: 1, index: 0), feature: Sample.counter, version: 0, intent: "", json: [],
                    expiry: .zero)
            ]
            batch.epoch = ""
            try await journal.commit(batch, to: &log)
            let turn = RecordedTurn(number: 1, feature: Sample.counter, time: .zero, recording: [])
            try await journal.record([turn], of: log, RecordingLimit(turns: 1))
            try await journal.reload()
            let export = try await journal.exported(log)
            #expect(export.stores.map(\.state) == [[]] && export.stores.map(\.view) == [[]])
            #expect(export.stores.map(\.viewIntent) == [""])
            #expect(export.turns == [turn])
            #expect(export.session.labels == batch.labels && export.session.receipts == batch.receipts)
            #expect(export.session.record.lastSeen == log.record.lastSeen && export.session.record.epoch == "")
        },
        JournalCheck("a state and a view state of 1 MiB come back byte for byte, and go again") { journal in
            var log = try await journal.newLog()
            let state = (0..<1_048_576).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }
            var change = StoreChange.made()
            change.state = state
            change.view = state.reversed()
            try await journal.commit(log.batch(change), to: &log)
            try await journal.reload()
            var store = try await journal.store(of: log)
            // Not `#expect(a == b)`, which would print a million numbers.
            #expect((store.state == state) as Bool)
            #expect((store.view == Array(state.reversed())) as Bool)
            try await journal.commit(log.batch(.sample(.changed, state: "1", view: nil)), to: &log)
            try await journal.reload()
            store = try await journal.store(of: log)
            #expect(store.state == Sample.bytes("1"))
            #expect((store.view == Array(state.reversed())) as Bool)
        },
        JournalCheck("texts of any Unicode come back byte for byte") { journal in
            let texts = [
                "é", "e\u{301}", "\u{301}", "\u{0}", "a\u{0}b", "日本語", "👩‍👩‍👧", "\u{FEFF}x", "'; DROP TABLE session; --",
                "%s\\",
                "\u{10FFFF}", "\u{202E}rtl", "line\nbreak\r\n", String(repeating: "ß", count: 1_000),
            ]
            for text in texts {
                var log = try await journal.newLog()
                var receipt = Sample.receipt(text)
                receipt.intent = text
                var labels = log.labels("a")
                labels[0].intent = text
                labels[0].json = Sample.bytes(text)
                var batch = log.batch(
                    .sample(.made, state: text, view: text, viewIntent: text), labels: labels,
                    receipts: [receipt, Sample.receipt(sequence: 1, epoch: text)])
                batch.epoch = text
                try await journal.commit(batch, to: &log)
                try await journal.reload()
                let session = try await journal.stored(log)
                let kept =
                    [session.receipts.first?.intent, session.labels.first?.intent, session.record.epoch]
                    + session.receipts.map { receipt in
                        switch receipt.key {
                        case .key(let key, feature: _): key
                        case .sequence(_, let epoch): epoch
                        }
                    }
                // Byte for byte: `==` on strings treats composed and decomposed letters as equal.
                for kept in kept {
                    #expect(kept.map { Array($0.utf8) } == Array(text.utf8), "\(text.debugDescription)")
                }
                #expect(kept.count == 5)
                let store = try await journal.store(of: log)
                #expect(store.viewIntent.map { Array($0.utf8) } == Array(text.utf8))
                #expect(store.state == Array(text.utf8))
                #expect(try await journal.append(log.batch(receipts: [receipt])).duplicate == batch.receipts[0])

                try await journal.commit(log.batch(.sample(.made, setsAside: text)), to: &log)
                try await journal.reload()
                #expect(try await journal.exported(log).setAside.map { Array($0.reason.utf8) } == [Array(text.utf8)])
            }
        },
        JournalCheck("the largest numbers come back") { journal in
            var log = try await journal.newLog()
            // Turns' numbers may be stored in 63 bits; all others have 64.
            let number = UInt64(Int64.max) - 1
            var batch = log.batch(
                .made(), turns: number, labels: log.labels("a", turn: number),
                receipts: [
                    Sample.receipt(sequence: .max, epoch: "e", version: .max), Sample.receipt("key", version: .max),
                ])
            batch.head.nonce = .max
            batch.stores[0].version = .max
            batch.stores[0].schemaVersion = .max
            batch.labels[0].version = .max
            batch.receipts[1].number = number
            batch.lostLabels = LostLabels()
            batch.lostLabels?.dropped[Sample.counter] = .init(number: .max, isUnheard: true)
            try await journal.commit(batch, to: &log)
            try await journal.reload()
            let export = try await journal.exported(log)
            #expect(export.session.head == batch.head)
            #expect(export.session.lostLabels == batch.lostLabels)
            #expect(export.session.receipts == batch.receipts)
            #expect(export.session.labels == batch.labels)
            #expect(export.stores.map(\.schemaVersion) == [.max])
            #expect(
                export.stores.map(\.summary) == [
                    StoreSummary(feature: Sample.counter, number: number, version: .max, made: number, replaced: 0)
                ])
            #expect(try await journal.news(log, since: SessionHead(number: .max, nonce: 0)).changed.isEmpty)
            try await journal.commit(log.batch(.changed()), to: &log)
            try await journal.reload()
            #expect(try await journal.news(log, since: batch.head).recentHeads == [.empty, batch.head, log.head])
        },
    ]
}
