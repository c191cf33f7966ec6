import EventStream
import Locking
import MVI
import SessionJournal
import WireJSON

/// A client that looks at a store.
package struct Face: Sendable, Equatable {
    /// The client's name, the same on every node.
    package let id: String
    /// The time when it came: milliseconds since 1970.
    package let since: Int64
    /// The face that others are shown of it, as JSON; nil if it is only counted.
    package var shown: [UInt8]?

    package init(id: String, since: Int64, shown: [UInt8]?) { (self.id, self.since, self.shown) = (id, since, shown) }
}

/// The clients that look at a store, on all nodes. Nothing of it is kept by the journal: it follows open streams.
///
/// A client that leaves stays for a while, so that nobody sees it go for a reload, a tunnel or a deploy. The whole set is
/// told, at most once an interval. It calls nothing, so that it may be used under a lock.
final class PresenceBook: Sendable {
    /// The time for which a client stays whose last stream has ended.
    static let grace = Duration.seconds(10)
    /// The shortest time between two events.
    static let interval = Duration.seconds(1)
    /// The time for which another node's report is valid. It is repeated every few seconds.
    static let reportLife = Duration.seconds(15)
    /// The clients of whom others are shown something.
    static let mostShown = 100
    /// The clients that a report to other nodes names.
    static let mostReported = 10_000
    /// The bytes of what others are shown of a client.
    static let mostBytes = 1_024

    /// The consequences of a look.
    struct Look {
        /// True if the set has changed, which streams tell now.
        var isChanged = false
        /// The clients of this node, if other nodes have to be told.
        var report: [Face]?
        /// The time of the next look; nil if one is due earlier, or none.
        var next: Duration?
        /// True if nobody is left, and streams were told.
        var isEmpty = false
    }

    fileprivate struct Local {
        var face: Face
        var streams: Int
        /// The time at which its last stream ended.
        var left: Duration?
    }

    fileprivate struct State {
        var local: [String: Local] = [:]
        var remote: [NodeID: (until: Duration, faces: [Face])] = [:]
        var isReported = true
        var isRetired = false
        /// The set that streams were told, and its number.
        var told = Told()
        var number: UInt64 = 0
        var lastTold: Duration?
        /// The time of the last report to other nodes.
        var lastReport: Duration?
        /// Streams are told nothing before it.
        var hold: Duration
        /// The time of the next look.
        var timer: Duration?
    }

    struct Told: Equatable, Sendable {
        var count = 0
        var shown: [[UInt8]] = []

        var json: [UInt8] {
            var bytes = Array("{\"count\":\(count),\"viewers\":[".utf8)
            for (index, face) in shown.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                bytes += face
            }
            bytes += "]}".utf8
            return bytes
        }
    }

    let feature: FeatureID
    private let state: Lock<State>
    /// The event of the set that streams were told, made once for all.
    private let bytes = Lock<(number: UInt64, event: [UInt8])>((0, []))

    /// - Parameter hold: the time before which nothing is told, since streams of other nodes, or of the time before a
    ///   restart or a deploy, are not known yet.
    init(_ feature: FeatureID, hold: Duration) {
        self.feature = feature
        state = Lock(State(hold: hold))
    }

    /// Adds a stream of a client, or changes what others are shown of it. Returns false for a retired book.
    func enter(_ id: String, _ shown: [UInt8]?, isNew: Bool, _ now: Moment) -> Bool {
        state.withLock { state in
            if state.isRetired { return false }
            let milliseconds = now.sinceEpoch / .milliseconds(1)
            var local = state.local[id] ?? Local(face: Face(id: id, since: Int64(milliseconds), shown: nil), streams: 0)
            if local.face.shown != shown || state.local[id] == nil { state.isReported = false }
            local.face.shown = shown
            local.left = nil
            if isNew { local.streams += 1 }
            state.local[id] = local
            return true
        }
    }

    /// Ends the book, for which another one is made, if nobody looks. Returns false if somebody does.
    func retire() -> Bool {
        state.withLock { state in
            state.isRetired = state.local.isEmpty && state.remote.isEmpty
            return state.isRetired
        }
    }

    /// Removes a stream of a client.
    ///
    /// - Parameter isAtOnce: true for a client that may not look any more.
    func leave(_ id: String, isAtOnce: Bool, now: Duration) {
        state.withLock { state in
            guard var local = state.local[id] else { return }
            local.streams -= 1
            if local.streams == 0 { local.left = isAtOnce ? now - Self.grace : now }
            state.local[id] = local
        }
    }

    /// Has exactly these clients look, as it is told at the next look.
    func become(_ faces: [Face]) {
        state.withLock { state in
            state.local = [:]
            for face in faces { state.local[face.id] = Local(face: face, streams: 1) }
            (state.isReported, state.lastReport, state.lastTold, state.hold) = (false, nil, nil, .zero)
        }
    }

    /// Takes another node's report. Returns the clients of this node if that node does not know them.
    func report(_ faces: [Face], from node: NodeID, now: Duration) -> [Face]? {
        state.withLock { state in
            let isNew = state.remote[node] == nil
            state.remote[node] = faces.isEmpty ? nil : (now + Self.reportLife, faces)
            return isNew && !faces.isEmpty && !state.local.isEmpty ? state.faces : nil
        }
    }

    /// The clients of this node; nil if it has none.
    var faces: [Face]? { state.withLock { $0.local.isEmpty ? nil : $0.faces } }

    /// Removes who is gone, and finds what is to be told now.
    ///
    /// - Parameter due: the time for which an earlier look asked for this one, which may come too early; nil for others.
    func look(now: Duration, due: Duration? = nil) -> Look {
        state.withLock { state in
            if due == state.timer { state.timer = nil }
            return state.look(now: now)
        }
    }

    /// The set that streams were told.
    var told: (set: Told, number: UInt64) { state.withLock { ($0.told, $0.number) } }

    /// The event that tells the set, and its number. 0 if nothing was told.
    func event() -> (number: UInt64, event: [UInt8]) {
        let (told, number) = self.told
        if number == 0 { return (0, []) }
        let known = bytes.withLock { $0 }
        if known.number == number { return known }
        var event: [UInt8] = []
        StreamEvents.presence(feature, told.json, into: &event)
        return bytes.withLock { bytes in
            if bytes.number < number { bytes = (number, event) }
            return bytes
        }
    }

    /// The set with the number of the last event, without its bytes.
    var number: UInt64 { state.withLock { $0.number } }
}

extension PresenceBook.State {
    /// The clients of this node. What others are shown is left out beyond what any stream tells.
    fileprivate var faces: [Face] {
        var shown = 0
        return local.values.map(\.face).sorted { ($0.since, $0.id) < ($1.since, $1.id) }
            .prefix(PresenceBook.mostReported).map { face in
                guard face.shown != nil else { return face }
                shown += 1
                return shown <= PresenceBook.mostShown ? face : Face(id: face.id, since: face.since, shown: nil)
            }
    }

    fileprivate mutating func look(now: Duration) -> PresenceBook.Look {
        if timer.map({ $0 <= now }) == true { timer = nil }
        var look = PresenceBook.Look()
        for (id, client) in local where client.left.map({ $0 + PresenceBook.grace <= now }) == true {
            local[id] = nil
            isReported = false
        }
        for (node, report) in remote where report.until <= now { remote[node] = nil }
        var next = earliestEnd
        if !isReported {
            // Other nodes answer the first one, before streams are told anything.
            let due = lastReport.map { $0 + PresenceBook.interval } ?? now
            if due <= now {
                (look.report, lastReport, isReported) = (faces, now, true)
            } else {
                next = min(next ?? due, due)
            }
        }
        let set = set
        if set != told {
            let due = max(hold, lastTold.map { $0 + PresenceBook.interval } ?? now)
            if due <= now {
                (look.isChanged, told, number, lastTold) = (true, set, number + 1, now)
            } else {
                next = min(next ?? due, due)
            }
        }
        look.isEmpty = local.isEmpty && remote.isEmpty && told.count == 0 && isReported
        if let next, timer.map({ next < $0 }) ?? true {
            timer = next
            look.next = next
        }
        return look
    }

    /// The earliest time at which somebody may be gone.
    private var earliestEnd: Duration? {
        let left = local.values.compactMap { $0.left.map { $0 + PresenceBook.grace } }.min()
        let over = remote.values.map(\.until).min()
        return [left, over].compactMap { $0 }.min()
    }

    /// The clients of all nodes, in the order in which they came.
    private var set: PresenceBook.Told {
        var all: [String: Face] = [:]
        all.reserveCapacity(local.count)
        for face in remote.values.flatMap(\.faces) { all[face.id] = face.earlier(all[face.id]) }
        for client in local.values { all[client.face.id] = client.face.earlier(all[client.face.id]) }
        let shown = all.values.filter { $0.shown != nil }.sorted { ($0.since, $0.id) < ($1.since, $1.id) }
        return PresenceBook.Told(count: all.count, shown: shown.prefix(PresenceBook.mostShown).compactMap(\.shown))
    }
}

extension Face {
    /// The same client, since the earlier of two times.
    fileprivate func earlier(_ other: Face?) -> Face {
        guard let other, other.since < since else { return self }
        return Face(id: id, since: other.since, shown: shown ?? other.shown)
    }
}
