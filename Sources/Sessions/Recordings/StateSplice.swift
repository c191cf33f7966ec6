import MVI
import SessionJournal
import WireJSON

/// The difference between a store's recorded state and that of its recorded turn before: parts of that text, and new
/// text. It takes the place of the state in the journal, except in one of some recordings, so that more turns fit into a
/// limit of bytes.
///
/// Texts, not values, since the result has to be the recorded text to the byte.
struct StateSplice: Codable, Equatable {
    enum Part: Codable, Equatable {
        /// A range of the old text's UTF-8.
        case old(Range<Int>)
        case new(String)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self = .new(text)
                return
            }
            let bounds = try container.decode([Int].self)
            guard bounds.count == 2, bounds[0] >= 0, bounds[0] <= bounds[1] else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a range")
            }
            self = .old(bounds[0]..<bounds[1])
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .old(let range): try container.encode([range.lowerBound, range.upperBound])
            case .new(let text): try container.encode(text)
            }
        }
    }

    /// The number of the turn before.
    let base: UInt64
    private(set) var parts: [Part] = []
    /// FNV-1a of the result (http://www.isthe.com/chongo/tech/comp/fnv/): the turn with that number may be another one,
    /// since a batch was rolled back.
    let sum: String

    /// The length of the blocks of the old text that are looked up in the new one.
    private static let block = 24

    init(from old: [UInt8], to new: [UInt8], base: UInt64) {
        (self.base, sum) = (base, Self.sum(new))
        var (prefix, suffix) = (0, 0)
        let shorter = min(old.count, new.count)
        while prefix < shorter, old[prefix] == new[prefix] { prefix += 1 }
        while suffix < shorter - prefix, old[old.count - 1 - suffix] == new[new.count - 1 - suffix] { suffix += 1 }
        var written = 0
        take(old, 0..<prefix, new, at: 0, &written)
        // As `rsync` finds blocks (Tridgell 1999, chapter 3): a sum that rolls over the new text.
        let (end, oldEnd) = (new.count - suffix, old.count - suffix)
        var places: [UInt32: Int] = [:]
        for place in stride(from: prefix, to: max(prefix, oldEnd - Self.block + 1), by: Self.block) {
            places[Self.rolling(old[place..<(place + Self.block)])] = place
        }
        var place = prefix
        var rolling: UInt32?
        while !places.isEmpty, place + Self.block <= end {
            let sum = rolling ?? Self.rolling(new[place..<(place + Self.block)])
            if let start = places[sum],
                old[start..<(start + Self.block)].elementsEqual(new[place..<(place + Self.block)])
            {
                var length = Self.block
                while place + length < end, start + length < oldEnd, new[place + length] == old[start + length] {
                    length += 1
                }
                take(old, start..<(start + length), new, at: place, &written)
                place += length
                rolling = nil
            } else {
                // The sum of the next window, if there is one.
                rolling =
                    place + Self.block < end
                    ? Self.rolled(sum, dropping: new[place], adding: new[place + Self.block]) : nil
                place += 1
            }
        }
        take(old, oldEnd..<old.count, new, at: end, &written)
        if written < new.count { parts.append(.new(String(decoding: new[written...], as: UTF8.self))) }
    }

    /// Adds a range of the old text that stands at a place of the new one, after the new text before it. Parts begin and
    /// end between characters.
    private mutating func take(
        _ old: [UInt8], _ range: Range<Int>, _ new: [UInt8], at place: Int, _ written: inout Int
    ) {
        var (first, last) = (max(place, written), place + range.count)
        while first < last, Self.isInside(new, first) { first += 1 }
        while last > first, Self.isInside(new, last) { last -= 1 }
        guard first < last else { return }
        if written < first { parts.append(.new(String(decoding: new[written..<first], as: UTF8.self))) }
        let start = range.lowerBound + first - place
        parts.append(.old(start..<(start + last - first)))
        written = last
    }

    private static func isInside(_ text: [UInt8], _ place: Int) -> Bool {
        place < text.count && text[place] & 0xC0 == 0x80
    }

    private static func sum(_ text: [UInt8]) -> String {
        String(text.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }, radix: 36)
    }

    /// The sum of byte × factor to the power of its distance from the block's end.
    private static func rolling(_ block: ArraySlice<UInt8>) -> UInt32 {
        block.reduce(0) { $0 &* factor &+ UInt32($1) }
    }

    private static let factor: UInt32 = 0x0100_0193
    private static let oldest = (0..<block).reduce(1 as UInt32) { power, _ in power &* factor }

    private static func rolled(_ sum: UInt32, dropping old: UInt8, adding new: UInt8) -> UInt32 {
        sum &* factor &+ UInt32(new) &- UInt32(old) &* oldest
    }

    /// Returns the new text; nil if `old` is not the text that the difference was made from.
    func applied(to old: [UInt8]) -> [UInt8]? {
        var new: [UInt8] = []
        for part in parts {
            switch part {
            case .new(let text): new += text.utf8
            case .old(let range):
                guard range.upperBound <= old.count else { return nil }
                new += old[range]
            }
        }
        return Self.sum(new) == sum ? new : nil
    }
}

/// The state of a recorded turn.
final class RecordedState: Sendable {
    /// The largest number of the session's turns between two whole states of a store: those that an export may lack. Of
    /// all stores' turns, since they take the places of the oldest ones.
    static func interval(_ limit: RecordingLimit) -> UInt64 { UInt64(max(1, min(longestInterval, limit.turns / 8))) }

    static let longestInterval = 16

    let number: UInt64
    let state: [UInt8]
    /// The number of the last turn with a whole state.
    let whole: UInt64

    /// - Parameter whole: nil for a whole state.
    init(_ number: UInt64, _ state: [UInt8], since whole: UInt64? = nil) {
        (self.number, self.state, self.whole) = (number, state, whole ?? number)
    }
}

/// A recording as text. Its last member is the state, or a splice in its place.
struct RecordingText {
    private static let stateName = Array(#""state":"#.utf8)
    private static let spliceName = Array(#""splice":"#.utf8)

    /// The members before the last one.
    private let head: ArraySlice<UInt8>
    let state: [UInt8]

    private struct Last: Decodable {
        let state: JSONText?
        let splice: StateSplice?
    }

    /// A recording with a whole state; nil for another one.
    ///
    /// - Parameter known: texts that may be its state, to be tried first.
    init?(_ recording: [UInt8], known: [[UInt8]?] = []) {
        for case let state? in known {
            guard let head = Self.head(of: recording, Self.stateName, state) else { continue }
            (self.head, self.state) = (head, state)
            return
        }
        guard let state = try? WireJSON.decode(Last.self, from: recording).state,
            let head = Self.head(of: recording, Self.stateName, state.bytes)
        else { return nil }
        (self.head, self.state) = (head, state.bytes)
    }

    /// The text before the last member; nil if that is another one.
    private static func head(of recording: [UInt8], _ name: [UInt8], _ value: [UInt8]) -> ArraySlice<UInt8>? {
        let end = recording.count - value.count - 1
        let start = end - name.count
        guard start > 0, recording[start..<end].elementsEqual(name),
            recording[end..<(recording.count - 1)].elementsEqual(value)
        else { return nil }
        return recording[..<start]
    }

    /// The recording with the difference from the state before instead of its state; nil if that is hardly shorter.
    func spliced(from before: RecordedState) -> [UInt8]? {
        let splice = StateSplice(from: before.state, to: state, base: before.number)
        guard let json = try? WireJSON.encode(splice), json.count < state.count / 2 else { return nil }
        return Self.text(head, Self.spliceName, json)
    }

    /// The id of a recording's intent.
    static func intent(of recording: [UInt8]) -> String? {
        struct Head: Decodable { let intent: String }
        return try? WireJSON.decode(Head.self, from: recording).intent
    }

    private static func text(_ head: ArraySlice<UInt8>, _ name: [UInt8], _ value: [UInt8]) -> [UInt8] {
        var text = Array(head)
        text += name
        text += value
        text.append(UInt8(ascii: "}"))
        return text
    }

    /// Returns recordings with whole states. Leaves out those of which an earlier turn is no longer kept.
    static func whole(_ turns: [RecordedTurn]) -> [RecordedTurn] {
        // Several of a store: another node may have recorded turns between two of this one.
        var states: [FeatureID: [RecordedState]] = [:]
        return turns.compactMap { turn in
            guard let last = try? WireJSON.decode(Last.self, from: turn.recording) else { return turn }
            guard let splice = last.splice else {
                if let state = last.state { states.add(RecordedState(turn.number, state.bytes), turn.feature) }
                return turn
            }
            let before = states[turn.feature]?.first { $0.number == splice.base }
            guard let before, let state = splice.applied(to: before.state), let json = try? WireJSON.encode(splice),
                let head = head(of: turn.recording, spliceName, json)
            else { return nil }
            states.add(RecordedState(turn.number, state), turn.feature)
            var turn = turn
            turn.recording = text(head, stateName, state)
            return turn
        }
    }
}

extension [FeatureID: [RecordedState]] {
    fileprivate mutating func add(_ state: RecordedState, _ feature: FeatureID) {
        var kept = removeValue(forKey: feature) ?? []
        if kept.count >= RecordedState.longestInterval { kept.removeFirst() }
        kept.append(state)
        self[feature] = kept
    }
}

extension SessionExport {
    /// The export with whole states in its recorded turns.
    package var whole: SessionExport {
        var export = self
        export.turns = RecordingText.whole(turns)
        return export
    }
}
