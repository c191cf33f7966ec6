/// The common elements of two arrays, in order.
struct ListDifference {
    let old: [Range<Int>]
    private(set) var new: [Range<Int>] = []
    /// The places after the arrays.
    let oldEnd: Int
    private(set) var newEnd = 0
    /// For each element of `new`, the element of `old` with the same text, if it was found so far.
    private var seen: [Int] = []

    /// The number of bytes of differing runs that may still be compared: initially eight times both texts. Long and
    /// similar elements would otherwise be compared in each step.
    private(set) var bytesLeft: Int

    /// The maximum number of steps for differing runs; the rest is compared in pairs.
    private static let stepLimit = 1 << 20
    /// The maximum number of added and removed elements that is searched for.
    private static let changeLimit = 512

    /// Nil if a text is malformed.
    init?(_ texts: TextPair, _ oldArray: Int, _ newArray: Int) {
        guard let (old, oldEnd) = texts.old.elements(at: oldArray) else { return nil }
        (self.old, self.oldEnd) = (old, oldEnd)
        bytesLeft = 8 * (texts.old.bytes.count + texts.new.bytes.count)
        var place = newArray + 1
        // The next expected old element, and the number of different new ones since then.
        var (expected, others) = (0, 0)
        while texts.new.byte(at: place) != UInt8(ascii: "]") {
            // The element may follow now, after one or two removed ones, or after the same number of changed ones.
            let candidates = [expected, expected + 1, expected + 2, expected + others]
            let match = candidates.first { $0 < old.count && texts.has(old[$0], at: place) }
            guard let end = match.map({ place + old[$0].count }) ?? texts.new.end(of: place),
                let next = texts.new.next(after: end, closing: UInt8(ascii: "]"))
            else { return nil }
            new.append(place..<end)
            seen.append(match ?? -1)
            (expected, others) = match.map { ($0 + 1, 0) } ?? (expected, others + 1)
            place = next
        }
        newEnd = place + 1
    }

    private func isSame(_ texts: TextPair, _ one: Int, _ two: Int) -> Bool {
        seen[two] == one || texts.areEqual(old[one], new[two])
    }

    /// Compares two elements within the limit of bytes.
    private mutating func isSameWithinLimit(_ texts: TextPair, _ one: Int, _ two: Int) -> Bool {
        if seen[two] == one { return true }
        let (before, after) = (old[one], new[two])
        guard before.count == after.count else { return false }
        let same = texts.sameBytes(before.lowerBound, after.lowerBound, count: before.count)
        bytesLeft -= same + 8
        return same == before.count
    }

    /// Returns the pairs of places of elements that stay, in order.
    mutating func kept(_ texts: TextPair) -> [(Int, Int)] {
        var start = 0
        let shorter = min(old.count, new.count)
        while start < shorter, isSame(texts, start, start) { start += 1 }
        var same = 0
        while same < shorter - start, isSame(texts, old.count - 1 - same, new.count - 1 - same) { same += 1 }
        var pairs = (0..<start).map { ($0, $0) }
        pairs += middle(texts, start..<old.count - same, start..<new.count - same)
        pairs += (0..<same).reversed().map { (old.count - 1 - $0, new.count - 1 - $0) }
        return pairs
    }

    /// E. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), section 4, up to a number of changes and of
    /// bytes.
    private mutating func middle(_ texts: TextPair, _ one: Range<Int>, _ two: Range<Int>) -> [(Int, Int)] {
        let (rows, columns) = (one.count, two.count)
        guard rows > 0, columns > 0 else { return [] }
        let limit = min(rows + columns, Self.changeLimit, Self.stepLimit / (rows + columns))
        guard abs(rows - columns) <= limit else { return [] }
        // furthest[k + limit + 1]: the furthest place in `one` on the diagonal k, the lead over `two`.
        var furthest = [Int](repeating: 0, count: 2 * limit + 3)
        // For each number of changes, the previous `furthest` from k = -changes - 1 on.
        var trace: [[Int]] = []
        for changes in 0...limit {
            trace.append(Array(furthest[limit - changes...limit + changes + 2]))
            for diagonal in stride(from: -changes, through: changes, by: 2) {
                let (lower, upper) = (furthest[limit + diagonal], furthest[limit + diagonal + 2])
                var row = Self.isAddition(diagonal, changes, lower, upper) ? upper : lower + 1
                while row < rows, row - diagonal < columns,
                    isSameWithinLimit(texts, one.lowerBound + row, two.lowerBound + row - diagonal)
                { row += 1 }
                guard bytesLeft > 0 else { return [] }
                furthest[limit + diagonal + 1] = row
                guard row != rows || row - diagonal != columns else {
                    return Self.pairs(trace, rows, columns).map { (one.lowerBound + $0, two.lowerBound + $1) }
                }
            }
        }
        return []
    }

    /// Returns true if the last change on the way to a diagonal is an added element, false for a removed one.
    private static func isAddition(_ diagonal: Int, _ changes: Int, _ lower: Int, _ upper: Int) -> Bool {
        diagonal == -changes || (diagonal != changes && lower < upper)
    }

    /// Follows the path back from the end.
    private static func pairs(_ trace: [[Int]], _ rows: Int, _ columns: Int) -> [(Int, Int)] {
        var pairs: [(Int, Int)] = []
        var (row, column) = (rows, columns)
        for (changes, furthest) in trace.enumerated().reversed() {
            let diagonal = row - column
            let (lower, upper) = (furthest[diagonal + changes], furthest[diagonal + changes + 2])
            let isAddition = isAddition(diagonal, changes, lower, upper)
            let earlier = isAddition ? upper : lower
            let earlierColumn = earlier - (isAddition ? diagonal + 1 : diagonal - 1)
            while row > earlier, column > earlierColumn {
                (row, column) = (row - 1, column - 1)
                pairs.append((row, column))
            }
            (row, column) = (earlier, earlierColumn)
        }
        return pairs.reversed()
    }
}
