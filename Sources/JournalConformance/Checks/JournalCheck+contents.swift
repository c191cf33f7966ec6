import SessionJournal
import Testing

extension JournalCheck {
    static let contents: [JournalCheck] = [
        JournalCheck("what is empty comes back empty") { journal in
            let (key, record) = try await journal.newSession()
            let turn = TurnAppend(
                labels: [LabelAppend(version: 0, intent: "", json: [], expiry: .zero)], recording: [],
                recordingLimit: 1)
            let receipt = Sample.receipt(.sequence(0, epoch: ""), outcome: .refused(status: 400, body: []))
            try await journal.commit(
                .turns(
                    key, from: nil, to: .next(0), state: "", view: "", viewIntent: "", turns: [turn],
                    receipts: [receipt], time: .zero))
            try await journal.reload()
            let export = try await journal.exported(record)
            #expect(export.stores.map(\.state) == [[]] && export.stores.map(\.view) == [[]])
            #expect(export.stores.map(\.viewIntent) == [""])
            #expect(export.turns.map(\.recording) == [[]])
            #expect(export.session.labels.map(\.label.json) == [[]])
            #expect(export.session.labels.map(\.label.intent) == [""])
            #expect(export.session.labels.map(\.label.expiry) == [.zero])
            #expect(export.session.receipts == [receipt])
            #expect(export.session.lastNumbers == ["": 0])
            #expect(export.session.record.lastSeen == record.lastSeen)
        },
        JournalCheck("a state and a view state of 1 MiB come back byte for byte, and go again") { journal in
            let (key, _) = try await journal.newSession()
            let token = StoreToken.next()
            var append = JournalAppend.turns(key, from: nil, to: token)
            let state = (0..<1_048_576).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }
            append.store?.state = state
            append.store?.view = state.reversed()
            try await journal.commit(append)
            try await journal.reload()
            var store = try await journal.store(of: key)
            // Not `#expect(a == b)`, which would print a million numbers.
            #expect((store.state == state) as Bool)
            #expect((store.view == Array(state.reversed())) as Bool)
            try await journal.commit(.turns(key, from: token, to: .next(2), state: "1", view: nil))
            try await journal.reload()
            store = try await journal.store(of: key)
            #expect(store.state == Sample.bytes("1"))
            #expect((store.view == Array(state.reversed())) as Bool)
        },
        JournalCheck("texts of any Unicode come back byte for byte") { journal in
            let texts = [
                "é", "e\u{301}", "\u{0}", "a\u{0}b", "日本語", "👩‍👩‍👧", "\u{FEFF}x", "'; DROP TABLE session; --", "%s\\",
                "\u{10FFFF}", "\u{202E}rtl", "line\nbreak\r\n", String(repeating: "ß", count: 1_000),
            ]
            for text in texts {
                let (key, record) = try await journal.newSession()
                let token = StoreToken.next()
                var receipt = Sample.receipt(text)
                receipt.intent = text
                let label = LabelAppend(version: 1, intent: text, json: Sample.bytes(text), expiry: Sample.later)
                try await journal.commit(
                    .turns(
                        key, from: nil, to: token, state: text, view: text, viewIntent: text,
                        turns: [TurnAppend(labels: [label])],
                        receipts: [receipt, Sample.receipt(number: 1, epoch: text)]))
                try await journal.reload()
                let session = try await journal.stored(record)
                let kept =
                    [session.receipts.first?.intent, session.labels.first?.label.intent]
                    + session.lastNumbers.keys.map { Optional($0) }
                    + session.receipts.map { receipt in
                        switch receipt.key {
                        case .key(let key, feature: _): key
                        case .sequence(_, let epoch): epoch
                        }
                    }
                // Byte for byte: `==` on strings takes composed and decomposed letters for the same.
                for kept in kept {
                    #expect(kept.map { Array($0.utf8) } == Array(text.utf8), "\(text.debugDescription)")
                }
                #expect(kept.count == 5)
                let store = try await journal.store(of: key)
                #expect(store.viewIntent.map { Array($0.utf8) } == Array(text.utf8))
                #expect(store.state == Array(text.utf8))
                #expect(try await journal.append(.receipts(key, receipt)).duplicate == receipt)

                var aside = JournalAppend.turns(key, from: token, to: .next(2))
                aside.store?.setsAside = text
                try await journal.commit(aside)
                try await journal.reload()
                let reasons = try await journal.exported(record).setAside.map { Array($0.reason.utf8) }
                #expect(reasons == [Array(text.utf8)])
            }
        },
        JournalCheck("the largest numbers come back") { journal in
            let (key, record) = try await journal.newSession()
            let token = StoreToken(version: .max, nonce: .max)
            var append = JournalAppend.turns(
                key, from: nil, to: token,
                receipts: [
                    Sample.receipt(number: .max, epoch: "e", version: .max), Sample.receipt("key", version: .max),
                ])
            var marks = SessionMarks()
            marks.versionFloor = .max
            marks.droppedSequence = .max
            append.marks = marks
            append.store?.marks.droppedSequence = .max
            append.store?.schemaVersion = .max
            append.store?.turns = [
                TurnAppend(labels: [LabelAppend(version: .max, intent: nil, json: [], expiry: Sample.later)])
            ]
            try await journal.commit(append)
            try await journal.reload()
            let export = try await journal.exported(record)
            #expect(export.session.marks == marks)
            #expect(export.session.lastNumbers == ["e": .max])
            #expect(export.session.receipts == append.receipts)
            #expect(export.session.labels.map(\.label.version) == [.max])
            #expect(export.stores.map(\.schemaVersion) == [.max])
            #expect(export.stores.map(\.summary.token) == [token])
            #expect(export.stores.map(\.summary.marks) == [append.store?.marks])
            try await journal.commit(.turns(key, from: token, to: .next()))
        },
    ]
}
