import SessionJournal
import Testing

extension JournalCheck {
    static let labels: [JournalCheck] = [
        JournalCheck("labels are loaded as they were published, in order, also those whose time is over") { journal in
            let (key, record) = try await journal.newSession()
            let labels = [
                LabelAppend(
                    version: 3, intent: "i1", json: Sample.bytes(#"{"type":"a"}"#), expiry: Sample.start - .seconds(9)),
                LabelAppend(version: 4, intent: nil, json: Sample.bytes(#"{"type":"b"}"#), expiry: Sample.muchLater),
                LabelAppend(version: 4, intent: "i2", json: Sample.bytes(#"{"type":"b"}"#), expiry: Sample.later),
            ]
            try await journal.commit(
                .turns(
                    key, from: nil, to: .next(),
                    turns: [TurnAppend(labels: [labels[0]]), TurnAppend(labels: [labels[1], labels[2]])]))
            try await journal.reload()
            let stored = try await journal.stored(record).labels
            #expect(stored.map(\.id.sequence) == [1, 2, 2])
            #expect(stored.map(\.id.index) == [0, 0, 1])
            #expect(stored.map(\.label.version) == [3, 4, 4])
            #expect(stored.map(\.label.intent) == ["i1", nil, "i2"])
            #expect(stored.map(\.label.json) == labels.map(\.json))
            #expect(stored.map(\.label.expiry) == labels.map(\.expiry))
            #expect(stored.allSatisfy { $0.feature == Sample.counter && !$0.isWritten })
        },
        JournalCheck("labels before the first that is still kept are gone, the others stay") { journal in
            let (key, record) = try await journal.newSession()
            let token = StoreToken.next()
            try await journal.commit(
                .turns(
                    key, from: nil, to: token,
                    turns: [Sample.turn("a", "b"), Sample.turn(), Sample.turn("c", "d", "e"), Sample.turn("f")]))
            func left(after first: LabelID) async throws -> [String] {
                var append = JournalAppend.receipts(key)
                append.firstLabel = first
                try await journal.commit(append)
                try await journal.reload()
                return try await journal.stored(record).labels.map { String(decoding: $0.label.json, as: UTF8.self) }
            }
            #expect(try await left(after: LabelID(sequence: 1, index: 1)) == ["b", "c", "d", "e", "f"].map(quoted))
            #expect(try await left(after: LabelID(sequence: 2, index: 5)) == ["c", "d", "e", "f"].map(quoted))
            #expect(try await left(after: LabelID(sequence: 3, index: 2)) == ["e", "f"].map(quoted))
            #expect(try await left(after: LabelID(sequence: 1, index: 0)) == ["e", "f"].map(quoted))
            #expect(try await left(after: LabelID(sequence: 5, index: 0)) == [])
            try await journal.commit(.turns(key, from: token, to: .next(2), turns: [Sample.turn("g")]))
            try await journal.reload()
            #expect(try await journal.stored(record).labels.map(\.id) == [LabelID(sequence: 5, index: 0)])
        },
        JournalCheck("a label that a socket took is marked as written, and only that") { journal in
            let (key, record) = try await journal.newSession()
            let token = StoreToken.next()
            try await journal.commit(
                .turns(key, from: nil, to: token, turns: [Sample.turn("a", "b"), Sample.turn("c"), Sample.turn("d")]))
            let touches = [
                SessionTouch(
                    session: key, lastSeen: Sample.start,
                    written: [
                        LabelID(sequence: 3, index: 0), LabelID(sequence: 1, index: 1), LabelID(sequence: 9, index: 9),
                    ])
            ]
            _ = try await journal.touch(touches).get()
            try await journal.commit(.turns(key, from: token, to: .next(2), turns: [Sample.turn("e")]))
            try await journal.reload()
            let labels = try await journal.stored(record).labels
            #expect(labels.map(\.isWritten) == [false, true, false, true, false])
        },
    ]

    private static func quoted(_ text: String) -> String { "\"\(text)\"" }
}
