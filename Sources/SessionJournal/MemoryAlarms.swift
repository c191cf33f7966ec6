/// The alarms of a journal in memory in their order: for each session one for each time at which a reminder of it is due.
///
/// They lie in pieces of at most 256, so that adding one moves few of 100,000.
struct MemoryAlarms {
    private static let pieceSize = 256
    /// In order; none is empty.
    private var pieces: [[Alarm]] = []

    /// Adds an alarm, which is not there yet.
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

    /// Removes an alarm, which is there.
    mutating func remove(_ alarm: Alarm) {
        guard !pieces.isEmpty else { return }
        let piece = piece(of: alarm)
        let place = Self.count(in: pieces[piece]) { $0.isBefore(alarm) }
        guard place < pieces[piece].count, pieces[piece][place] == alarm else { return }
        pieces[piece].remove(at: place)
        // Small neighbours become one, or there would be many pieces that hold little.
        let next = piece + 1
        if pieces[piece].isEmpty {
            pieces.remove(at: piece)
        } else if next < pieces.count, pieces[piece].count + pieces[next].count <= Self.pieceSize / 2 {
            let joined = pieces.remove(at: next)
            pieces[piece] += joined
        }
    }

    /// At most `limit` that come after one, or from the first on.
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

    /// The last piece that begins with the alarm or before it, or the first.
    private func piece(of alarm: Alarm) -> Int { max(0, Self.count(in: pieces) { !alarm.isBefore($0[0]) } - 1) }

    /// How many elements at the beginning a condition holds for, which holds for none after one for which it does not.
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
    /// The order of alarms: by time, and those of one time by their sessions' keys.
    fileprivate func isBefore(_ other: Alarm) -> Bool {
        (due, session.number) < (other.due, other.session.number)
    }
}
