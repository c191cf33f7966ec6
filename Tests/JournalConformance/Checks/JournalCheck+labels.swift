import MVI
import SessionJournal
import Testing

extension JournalCheck {
    static let labels: [JournalCheck] = [
        JournalCheck("labels are loaded as they were published, in order, also those whose time is over") { journal in
            var log = try await journal.newLog()
            let labels = [
                StoredLabel(
                    id: LabelID(number: 1, index: 0), feature: Sample.counter, version: 1, intent: "i1",
                    json: Sample.bytes(#"{"type":"a"}"#), expiry: Sample.start - .seconds(9)),
                StoredLabel(
                    id: LabelID(number: 2, index: 0), feature: Sample.feature(1), version: 2, intent: nil,
                    json: Sample.bytes(#"{"type":"b"}"#), expiry: Sample.muchLater),
                StoredLabel(
                    id: LabelID(number: 2, index: 1), feature: Sample.feature(1), version: 2, intent: "i2",
                    json: Sample.bytes(#"{"type":"b"}"#), expiry: Sample.later),
            ]
            try await journal.commit(log.batch(.made(), .made(Sample.feature(1)), turns: 2, labels: labels), to: &log)
            try await journal.reload()
            #expect(try await journal.stored(log).labels == labels)
            #expect(try await journal.news(log, since: .empty).labels == labels)
        },
        JournalCheck("labels keep their addressees, whatever is in them, and the others have none") { journal in
            var log = try await journal.newLog()
            let addressees: [LabelAddressee?] = [
                nil, .audience(Sample.bytes(#"{"type":"guest","value":"a b\n"}"#)), .audience(Sample.bytes("true")),
                .sender("s 1"), .session(""), .session("id"), .subject(Subject(issuer: "", id: "")),
                .subject(Subject(issuer: "https://i.example 3\n", id: "caf\u{e9} 1\n{}")),
                .subject(Subject(issuer: "1 2", id: "3")), nil,
            ]
            let labels = addressees.enumerated().map { index, to in
                StoredLabel(
                    id: LabelID(number: 1, index: index), feature: Sample.feature(index % 2), version: 1, intent: "i",
                    json: Sample.bytes(#"{"type":"a","text":"\n"}"#), expiry: Sample.later, to: to)
            }
            try await journal.commit(log.batch(.made(), labels: labels), to: &log)
            for _ in 0..<2 {
                #expect(try await journal.stored(log).labels == labels)
                #expect(try await journal.news(log, since: .empty).labels == labels)
                #expect(try await journal.exported(log).session.labels == labels)
                try await journal.reload()
            }
        },
        JournalCheck("labels before the first that is still kept are gone, the others stay") { journal in
            var log = try await journal.newLog()
            let labels =
                log.labels("a", "b") + log.labels("c", "d", "e", turn: 3) + log.labels("f", turn: 4)
            try await journal.commit(log.batch(.made(), turns: 4, labels: labels), to: &log)
            func left(after number: UInt64, _ index: Int, adding labels: [StoredLabel] = []) async throws -> String {
                var batch = log.batch(turns: labels.isEmpty ? 0 : 1, labels: labels)
                batch.firstLabel = LabelID(number: number, index: index)
                try await journal.commit(batch, to: &log)
                try await journal.reload()
                let texts = try await journal.stored(log).labels.map { String(decoding: $0.json, as: UTF8.self) }
                return texts.joined(separator: " ").filter { $0 != "\"" }
            }
            #expect(try await left(after: 1, 1) == "b c d e f")
            #expect(try await left(after: 2, 5) == "c d e f")
            #expect(try await left(after: 3, 2) == "e f")
            #expect(try await left(after: 1, 0) == "e f")
            // A label of the same batch may be among the removed ones.
            #expect(try await left(after: 5, 1, adding: log.labels("g", "h")) == "h")
            #expect(try await left(after: 6, 0) == "")
            try await journal.commit(log.batch(.changed(), labels: log.labels("i")), to: &log)
            try await journal.reload()
            #expect(try await journal.stored(log).labels.map(\.id) == [LabelID(number: 6, index: 0)])
        },
        JournalCheck("labels that a batch forgets are gone, wherever they stand; the others stay") { journal in
            var (log, other) = (try await journal.newLog(), try await journal.newLog())
            let labels = log.labels("a", "b") + log.labels("c", turn: 2) + log.labels("d", turn: 3)
            try await journal.commit(log.batch(.made(), turns: 3, labels: labels), to: &log)
            try await journal.commit(other.batch(.made(), labels: other.labels("a", "b")), to: &other)
            var batch = log.batch(.changed(), labels: log.labels("e", "f"))
            batch.forgottenLabels = [(3, 0), (1, 1), (4, 1), (9, 9)].map { LabelID(number: $0, index: $1) }
            try await journal.commit(batch, to: &log)
            for _ in 0..<2 {
                let left = try await journal.stored(log).labels.map { String(decoding: $0.json, as: UTF8.self) }
                #expect(left.joined(separator: " ").filter { $0 != "\"" } == "a c e")
                #expect(try await journal.stored(other).labels.count == 2)
                try await journal.reload()
            }
        },
        JournalCheck("a label that a socket took is marked as written, and only that") { journal in
            var log = try await journal.newLog()
            let labels = log.labels("a", "b") + log.labels("c", turn: 2) + log.labels("d", turn: 3)
            try await journal.commit(log.batch(.made(), turns: 3, labels: labels), to: &log)
            let written = [(3, 0), (1, 1), (9, 9)].map { LabelID(number: $0, index: $1) }
            let touch = SessionTouch(session: log.key, lastSeen: Sample.start, written: written)
            _ = try await journal.touch([touch]).get()
            try await journal.commit(log.batch(.changed(), labels: log.labels("e")), to: &log)
            try await journal.reload()
            let isWritten = [false, true, false, true, false]
            #expect(try await journal.stored(log).labels.map(\.isWritten) == isWritten)
            #expect(try await journal.news(log, since: .empty).labels.map(\.isWritten) == isWritten)
        },
        JournalCheck("what is remembered of lost labels stays until a batch brings something else") { journal in
            var log = try await journal.newLogWithStore()
            var lost = LostLabels()
            var seen: [LostLabels] = []
            for step in 0..<5 {
                switch step {
                case 0: lost.hasAny = true
                case 1: lost.dropped[Sample.counter] = .init(number: 7, isUnheard: true)
                case 2: lost.dropped[Sample.feature(1)] = .init(number: 1 << 60, isUnheard: false)
                case 3: lost.dropped[Sample.counter] = .init(number: 8, isUnheard: false)
                default: lost = LostLabels()
                }
                var batch = step.isMultiple(of: 2) ? log.batch(.changed()) : log.batch(turns: 0)
                batch.lostLabels = lost
                try await journal.commit(batch, to: &log)
                try await journal.commit(log.batch(.changed()), to: &log)
                try await journal.reload()
                seen.append(try await journal.stored(log).lostLabels)
                #expect(seen.last == lost)
                #expect(try await journal.news(log, since: .empty).lostLabels == lost)
            }
            #expect(Set(seen).count == 5)
        },
    ]
}
