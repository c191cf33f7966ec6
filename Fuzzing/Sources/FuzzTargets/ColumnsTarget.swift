import MVI
import SQLiteJournal
import SessionJournal

extension FuzzTarget {
    /// Columns of the journal with several values: values that were read are written and read again.
    static let columns = FuzzTarget(name: "columns") { input throws(BrokenProperty) in
        try lostLabels(String(decoding: input, as: UTF8.self))
        try earlierHeads(input)
    }

    private static func lostLabels(_ text: String) throws(BrokenProperty) {
        guard case .success(let lost) = attempt({ () throws(StoreError) in try LostLabels(text: text) }) else { return }
        let again = try succeed("lost labels cannot be read again") { try LostLabels(text: lost.text) }
        try hold(again == lost, "lost labels change when they are read again: \(lost.text)")
    }

    private static func earlierHeads(_ bytes: [UInt8]) throws(BrokenProperty) {
        guard case .success(var column) = attempt({ () throws(StoreError) in try EarlierHeads(bytes) }) else { return }
        let newest = SessionHead(number: 1 << 40, nonce: 7)
        let heads = column.heads(before: newest)
        try hold(heads.last == newest, "the newest head is not the last")
        try hold(heads.count <= 1 + bytes.count / 9, "\(bytes.count) bytes hold \(heads.count) heads")
        let next = SessionHead(number: newest.number + 300, nonce: 8)
        column.append(newest, before: next)
        let more = column.heads(before: next)
        try hold(more.suffix(2) == [newest, next], "an appended head is missing")
        let kept = heads.suffix(more.count - 1)
        try hold(Array(more.dropLast()) == Array(kept), "an appended head changes earlier ones")
        // A column that is within a journal's limit stays within it.
        if heads.count <= SessionHead.remembered {
            try hold(more.count <= SessionHead.remembered, "a column holds \(more.count) heads")
        }
        let again = try succeed("a list of heads cannot be read again") { try EarlierHeads(column.bytes) }
        try hold(again.heads(before: next) == more, "heads change when they are read again")
    }
}
