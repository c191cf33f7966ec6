import SessionJournal
import Testing

@testable import SQLiteJournal

@Suite("The rows of recorded turns")
struct RecordingRowsTests {
    private static let session = SessionKey(3)
    private static let first: Int64 = 3 << 20

    /// Adds turns of given sizes. Returns the places of their rows, and those of deleted rows.
    private func add(
        _ sizes: [Int], to rows: inout RecordingRows, turns: Int = 100, bytes: Int = .max
    ) -> [(place: Int64?, deleted: [Int64])] {
        sizes.map { size in
            let (row, deleted) = rows.add(size, RecordingLimit(turns: turns, bytes: bytes))
            return (row.map { $0.id - Self.first }, deleted.map { $0 - Self.first })
        }
    }

    @Test func `a new turn takes the row of the oldest`() {
        var rows = RecordingRows(Self.session, [])
        let added = add([1, 1, 1, 1, 1], to: &rows, turns: 3)
        #expect(added.map(\.place) == [0, 1, 2, 0, 1])
        #expect(added.allSatisfy { $0.deleted.isEmpty })
    }

    @Test func `a large turn takes the place of several small ones, whose rows are used later`() {
        var rows = RecordingRows(Self.session, [])
        _ = add([10, 10, 10], to: &rows, bytes: 30)
        let large = add([25], to: &rows, bytes: 30)
        #expect(large.map(\.place) == [0] && large[0].deleted == [1, 2])
        #expect(Set(add([2, 2], to: &rows, bytes: 30).map(\.place)) == [1, 2])
        #expect(add([1], to: &rows, bytes: 30).map(\.place) == [3])
    }

    @Test func `a turn above the limit of bytes leaves nothing`() {
        var rows = RecordingRows(Self.session, [])
        _ = add([10, 10], to: &rows, bytes: 30)
        let large = add([31], to: &rows, bytes: 30)
        #expect(large[0].place == nil && large[0].deleted == [0, 1])
        #expect(add([5], to: &rows, turns: 0)[0].place == nil)
        #expect(add([5, 5], to: &rows).map(\.place).allSatisfy { (0...1).contains($0 ?? -1) })
    }

    @Test func `stored rows go on in the order of their turns, and unused places between them are used`() {
        var rows = RecordingRows(
            Self.session, [4, 1].map { RecordingRows.Row(id: Self.first + $0, size: 1) })
        let added = add([1, 1, 1, 1], to: &rows, turns: 5)
        #expect(Set(added.prefix(3).map(\.place)) == [0, 2, 3])
        #expect(added.last?.place == 4)
    }

    @Test func `a body has the length of the one that it replaces, if it fits well`() {
        var rows = RecordingRows(Self.session, [])
        let limit = RecordingLimit(turns: 1)
        #expect([100, 60, 65, 200, 10].map { rows.add($0, limit).row?.size } == [128, 128, 128, 256, 64])
        let recording = Array(#"{"a":" "}"#.utf8)
        #expect(RecordingRows.recording(recording + Array("   ".utf8)) == recording)
        #expect(RecordingRows.recording(recording) == recording)
    }

    @Test func `bodies with their padding are within the limit of bytes`() {
        var rows = RecordingRows(Self.session, [])
        var kept: [Int64: Int] = [:]
        for size in (0..<2_000).map({ 100 + $0 * 37 % 900 }) {
            let (row, deleted) = rows.add(size, RecordingLimit(turns: 1_000, bytes: 20_000))
            for id in deleted { kept[id] = nil }
            if let row { kept[row.id] = row.size }
            #expect(row.map { $0.size >= size } == true && kept.values.reduce(0, +) <= 20_000)
        }
        #expect(kept.count > 20)
    }
}
