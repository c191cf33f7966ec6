/// The alarms of a journal in memory, in order: one for each session and due time of its reminders.
///
/// Stored in pieces of at most 256, so that an insertion moves few of 100,000 alarms.
struct MemoryAlarms {
    private static let pieceSize = 256
    /// The pieces in order. None is empty.
    private var pieces: [[Alarm]] = []

    /// Inserts an alarm that is not present.
    mutating func insert(_ alarm: Alarm) {
        guard !pieces.isEmpty else { return pieces = [[alarm]] }
        let piece = piece(of: alarm)
        let place = Self.count(in: pieces[piece]) { $0.isBefore(alarm) }
        pieces[piece].insert(alarm, at: place)
        guard pieces[piece].count > Self.pieceSize else { return }
        let half = Array(pieces[piece][(Self.pieceSize / 2)...])
        pieces[piece].removeLast(half.count)
        pieces.insert(half, at: piece + 1)
    }

    /// Removes an alarm that is present.
    mutating func remove(_ alarm: Alarm) {
        guard !pieces.isEmpty else { return }
        let piece = piece(of: alarm)
        let place = Self.count(in: pieces[piece]) { $0.isBefore(alarm) }
        guard place < pieces[piece].count, pieces[piece][place] == alarm else { return }
        pieces[piece].remove(at: place)
        // Merges small neighbors, to avoid many pieces with few alarms.
        let next = piece + 1
        if pieces[piece].isEmpty {
            pieces.remove(at: piece)
        } else if next < pieces.count, pieces[piece].count + pieces[next].count <= Self.pieceSize / 2 {
            let joined = pieces.remove(at: next)
            pieces[piece] += joined
        }
    }

    /// Returns at most `limit` alarms after one, or from the first on.
    func alarms(after alarm: Alarm?, limit: Int) -> [Alarm] {
        var (piece, place) = (0, 0)
        if let alarm, !pieces.isEmpty {
            piece = self.piece(of: alarm)
            place = Self.count(in: pieces[piece]) { !alarm.isBefore($0) }
        }
        var found: [Alarm] = []
        while piece < pieces.count, found.count < limit {
            found += pieces[piece][place...].prefix(limit - found.count)
            (piece, place) = (piece + 1, 0)
        }
        return found
    }

    /// Returns the last piece that begins at or before the alarm, or the first piece.
    private func piece(of alarm: Alarm) -> Int { max(0, Self.count(in: pieces) { !alarm.isBefore($0[0]) } - 1) }

    /// Returns the number of leading elements that meet a condition, by binary search.
    private static func count<Element>(in elements: [Element], while holds: (Element) -> Bool) -> Int {
        var (low, high) = (0, elements.count)
        while low < high {
            let middle = (low + high) / 2
            if holds(elements[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension Alarm {
    /// True if this alarm comes first, by time, then by session key.
    fileprivate func isBefore(_ other: Alarm) -> Bool {
        (due, session.number) < (other.due, other.session.number)
    }
}
