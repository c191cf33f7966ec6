import EventStream
import Locking
import MVI
import SessionJournal
import Synchronization
import WireJSON

/// A stream that shows stores of its client's session and of spaces.
///
/// It has a part for each log, which is a stream of that session without ids of its own. The part of the client's session
/// carries what belongs to the connection: its limits, its rotation and its end. A step has bytes of one part. The id in the
/// block of its last event says up to where each part has shown all: see `BundleCursor`.
///
/// A part that is late does not hold up the others. Until it joins, each id repeats what the client had of it.
package final class StreamBundle: Sendable {
    /// The spaces that a stream may show.
    package static let spaceLimit = 16

    struct Part: Sendable {
        let stream: SessionStream
        /// Its part of an id before the number, with the check of the log that it began with.
        let name: [UInt8]
        /// The client's own part of another log, which each id repeats until the reset is written; nil if it resumes.
        let received: [UInt8]?
    }

    /// A part that opens after the stream.
    struct LatePart: Sendable {
        let features: [FeatureID]
        /// The client's own part, which each id repeats; nil if it has none.
        let received: [UInt8]?
        var part: Part?
    }

    private struct State {
        /// The bytes before anything else.
        var opening: [UInt8]
        /// The number up to which each part has shown all; the own one is the first.
        var covered: [UInt64]
        /// The parts of which nothing is written yet, if they are late or reset: an id has them as the client had them.
        var unwritten: Set<Int>
        /// The part that is asked first next.
        var next = 0
        /// They have the places after the others.
        var late: [LatePart]
        /// The waker of the connection, for late parts.
        var waker: (any StreamWaker)?
        var isClosed = false
    }

    /// Notes which part has news, and wakes the connection.
    private final class PartWaker: StreamWaker {
        private let bundle: StreamBundle
        private let place: Int
        private let waker: any StreamWaker

        init(_ bundle: StreamBundle, _ place: Int, _ waker: any StreamWaker) {
            (self.bundle, self.place, self.waker) = (bundle, place, waker)
        }

        func wake() {
            bundle.news.bitwiseOr(1 << place, ordering: .releasing)
            waker.wake()
        }
    }

    let own: SessionStream
    private let parts: [Part]
    /// The number of parts, with late ones.
    private let count: Int
    private let state: Lock<State>
    /// A bit for each part that may have something to write, the lowest for the own one: most steps concern one part, and
    /// the others' sessions need not be locked. And `isNew`.
    private let news: Atomic<UInt32>
    /// A bit for each part whose space has ended, or that the client may not read.
    private let over = Atomic<UInt32>(0)
    private static let isNew: UInt32 = 1 << 31
    /// The access generation of the client's session by which the own part was asked last.
    private let generation = Atomic<UInt64>(.max)

    init(
        _ own: SessionStream, _ parts: [Part], late: [LatePart] = [], denied: [FeatureID], withoutRoom: [FeatureID]
    ) {
        (self.own, self.parts, count) = (own, parts, parts.count + late.count)
        news = Atomic(Self.isNew | 1 << (count + 1) - 1)
        var state = State(
            opening: [], covered: [own.beginning.number] + parts.map(\.stream.beginning.number) + late.map { _ in 0 },
            unwritten: Set(parts.indices.filter { parts[$0].received != nil }).union(parts.count..<count), late: late)
        var id: [UInt8] = []
        Self.appendID(own.beginning.epoch, parts, state, without: 0, to: &id)
        StreamEvents.opening(into: &state.opening)
        let shared = parts.flatMap(\.stream.beginning.features) + late.flatMap(\.features)
        StreamEvents.hello(
            session: own.session.id, epoch: own.beginning.epoch,
            resumed: own.beginning.isResumed && parts.allSatisfy(\.stream.beginning.isResumed)
                && late.allSatisfy { $0.received != nil },
            cursor: String(decoding: id, as: UTF8.self), heartbeat: own.session.shared.heartbeat,
            features: own.beginning.features + shared, shared: shared, into: &state.opening)
        for feature in denied { StreamEvents.denied(feature, into: &state.opening) }
        for feature in withoutRoom { StreamEvents.denied(feature, for: "too-many-stores", into: &state.opening) }
        self.state = Lock(state)
    }

    private static func appendID(
        _ epoch: String, _ parts: [Part], _ state: State, without over: UInt32, to bytes: inout [UInt8]
    ) {
        let start = bytes.count
        bytes.append(text: epoch)
        bytes.append(UInt8(ascii: "."))
        WireJSON.appendInteger(state.covered[0], to: &bytes)
        for index in 0..<(parts.count + state.late.count) where over & 1 << (index + 1) == 0 {
            let count = bytes.count
            let late = index < parts.count ? nil : state.late[index - parts.count]
            if state.unwritten.contains(index) {
                bytes += (late.map(\.received) ?? parts[index].received) ?? []
            } else if let part = late.map(\.part) ?? parts[index] {
                bytes += part.name
                WireJSON.appendInteger(state.covered[index + 1], to: &bytes)
            }
            if bytes.count - start > BundleCursor.longest { bytes.removeLast(bytes.count - count) }
        }
    }

    // MARK: Late parts

    /// Adds a late part that has opened.
    ///
    /// - Parameter place: its place among the late ones.
    func join(_ part: Part, at place: Int) {
        let index = parts.count + place
        let (waker, isClosed) = state.withLock { state -> ((any StreamWaker)?, Bool) in
            if state.isClosed { return (nil, true) }
            state.late[place].part = part
            return (state.waker, false)
        }
        if isClosed { return part.stream.closed() }
        if let waker { attach(part, index, waker) }
        news.bitwiseOr(1 << (index + 1), ordering: .releasing)
        waker?.wake()
    }

    /// Tells that the client may not read what a late part has.
    func deny(at place: Int) {
        over.bitwiseOr(1 << (parts.count + place + 1), ordering: .relaxed)
        let waker = state.withLock { state in
            for feature in state.late[place].features { StreamEvents.denied(feature, into: &state.opening) }
            return state.waker
        }
        news.bitwiseOr(Self.isNew, ordering: .releasing)
        waker?.wake()
    }

    /// True if the connection has ended, or none came.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    private func part(at index: Int) -> Part? {
        index < parts.count ? parts[index] : state.withLock { $0.late[index - parts.count].part }
    }

    private func attach(_ part: Part, _ index: Int, _ waker: any StreamWaker) {
        part.stream.opened(count == 1 ? waker : PartWaker(self, index + 1, waker))
    }

    private var lateParts: [Part] {
        count == parts.count ? [] : state.withLock { $0.late.compactMap(\.part) }
    }

    // MARK: Steps

    /// Attaches the connection. From now on `waker` is called if there is something to write.
    package func opened(_ waker: any StreamWaker) {
        own.opened(PartWaker(self, 0, waker))
        for (index, part) in parts.enumerated() { attach(part, index, waker) }
        guard count > parts.count else { return }
        let late = state.withLock { state in
            state.waker = waker
            return state.late
        }
        for (place, late) in late.enumerated() { if let part = late.part { attach(part, parts.count + place, waker) } }
    }

    /// Returns the next bytes to write. As that of a stream of one session, it is called after the socket took everything.
    package func nextStep() -> StreamStep {
        if news.load(ordering: .relaxed) & Self.isNew != 0 {
            news.bitwiseAnd(~Self.isNew, ordering: .acquiring)
            let opening = state.withLock { state in
                defer { state.opening = [] }
                return state.opening
            }
            if !opening.isEmpty { return .write(opening) }
        }
        // Parts are written only to a client whose own part was judged by its access of now.
        let access = own.session.accessGeneration.load(ordering: .acquiring)
        if generation.load(ordering: .relaxed) != access {
            generation.store(access, ordering: .relaxed)
            // Its client may be another audience of every part.
            news.bitwiseOr(1 << (count + 1) - 1, ordering: .relaxed)
        }
        if let step = nextOwnStep() { return step }
        let first = count > 1 ? state.withLock { $0.next } : 0
        for offset in 0..<count {
            let index = (first + offset) % count
            if !takeNews(of: index + 1) || over.load(ordering: .relaxed) & 1 << (index + 1) != 0 { continue }
            guard let part = part(at: index) else { continue }
            guard let (bytes, isAll) = nextStep(of: part, index) else {
                // The client's session knows why, if it is the reason.
                news.bitwiseOr(1, ordering: .relaxed)
                return nextOwnStep() ?? end(.rotate)
            }
            guard !bytes.isEmpty else { continue }
            if count == 1 {
                return isAll && news.load(ordering: .acquiring) & 1 == 0 ? .writeAll(bytes) : .write(bytes)
            }
            state.withLock { $0.next = (index + 1) % count }
            let others = news.bitwiseOr(1 << (index + 1), ordering: .acquiring).oldValue & ~(1 << (index + 1))
            return isAll && others == 0 ? .writeAll(bytes) : .write(bytes)
        }
        return .wait
    }

    /// True if a part may have something to write, which is noted again once it has written: it is asked until it waits.
    private func takeNews(of place: Int) -> Bool {
        // An only one wakes the connection itself.
        if place == 1, count == 1 { return true }
        let bit: UInt32 = 1 << place
        // Most have none.
        guard news.load(ordering: .relaxed) & bit != 0 else { return false }
        return news.bitwiseAnd(~bit, ordering: .acquiring).oldValue & bit != 0
    }

    /// The next bytes of the part of the client's session, or the end of the connection; nil if it waits.
    private func nextOwnStep() -> StreamStep? {
        guard takeNews(of: 0) else { return nil }
        let step = own.nextPart()
        if let reason = step.ending { return end(reason, step.bytes, covering: step.covered) }
        // A client resumes at its last id, and is told of the loss then.
        if step.epoch != own.beginning.epoch { return end(.rotate) }
        if step.bytes.isEmpty { return nil }
        news.bitwiseOr(1, ordering: .relaxed)
        return .write(withID(step.bytes, 0, step.covered))
    }

    /// The next bytes of a space's part; nil if the connection ends, since the part cannot go on in place.
    private func nextStep(of part: Part, _ index: Int) -> (bytes: [UInt8], isAll: Bool)? {
        let step = part.stream.nextPart()
        switch step.ending {
        case nil where step.epoch != part.stream.beginning.epoch: return nil
        case nil: return (step.bytes.isEmpty ? [] : withID(step.bytes, index + 1, step.covered), step.isAll)
        case .ended?, .expired?:
            var bytes = step.bytes
            for feature in part.stream.features { StreamEvents.end(feature, into: &bytes) }
            over.bitwiseOr(1 << (index + 1), ordering: .relaxed)
            return (withID(bytes, index + 1, step.covered), false)
        // It has left memory, or the client does not read.
        case _?: return nil
        }
    }

    private func end(_ reason: GoAwayReason, _ bytes: [UInt8] = [], covering number: UInt64? = nil) -> StreamStep {
        let last = bytes.isEmpty ? [] : withID(bytes, 0, number ?? 0)
        return .finish(last + StreamEvents.goAway(reason))
    }

    /// Puts an id into the last event's block if a part has moved on.
    private func withID(_ bytes: [UInt8], _ index: Int, _ covered: UInt64) -> [UInt8] {
        let over = over.load(ordering: .relaxed)
        return state.withLock { state in
            // A part of a space that has ended leaves the id, and one that is reset or shown first now joins it.
            guard state.unwritten.remove(index - 1) != nil || covered > state.covered[index] || over & 1 << index != 0,
                bytes.last == UInt8(ascii: "\n")
            else { return bytes }
            state.covered[index] = max(state.covered[index], covered)
            // The block is closed again after the id.
            var block: [UInt8] = []
            block.reserveCapacity(bytes.count + 48 + 32 * count)
            block += bytes[..<(bytes.count - 1)]
            block.append(literal: "id: ")
            Self.appendID(own.beginning.epoch, parts, state, without: over, to: &block)
            block.append(literal: "\n\n")
            return block
        }
    }

    /// True if its client has lost its access: unsent bytes must not be sent.
    package var dropsUnsent: Bool {
        own.dropsUnsent || parts.contains { $0.stream.dropsUnsent } || lateParts.contains { $0.stream.dropsUnsent }
    }

    /// A comment event that keeps the connection alive.
    package func ping() -> [UInt8] { own.ping() }

    /// Asks the stream to send its farewell and end.
    package func goAway(_ reason: GoAwayReason) { own.goAway(reason) }

    /// Handles the end of the connection, or that none came. A second call does nothing.
    package func closed(_ ending: StreamEnding = .cut) {
        for part in parts { part.stream.closed(ending) }
        if count > parts.count {
            let late = state.withLock { state in
                (state.isClosed, state.waker) = (true, nil)
                return state.late
            }
            for late in late { late.part?.stream.closed(ending) }
        }
        own.closed(ending)
    }
}

extension SessionStream {
    fileprivate var features: [FeatureID] { if case .features(let named) = filter { named } else { [] } }
}
