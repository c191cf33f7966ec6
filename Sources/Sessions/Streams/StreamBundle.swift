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
package final class StreamBundle: Sendable {
    /// The spaces that a stream may show.
    package static let spaceLimit = 16

    fileprivate struct Part: Sendable {
        let stream: SessionStream
        /// Its part of an id before the number, with the check of the log that it began with.
        let name: [UInt8]
        /// The client's own part of another log, which each id repeats until the reset is written; nil if it resumes.
        let received: [UInt8]?
    }

    private struct State {
        /// The bytes before anything else.
        var opening: [UInt8]
        /// The number up to which each part has shown all; the own one is the first.
        var covered: [UInt64]
        /// The parts whose reset is not written yet.
        var unreset: Set<Int>
        /// The part that is asked first next.
        var next = 0
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

    private let own: SessionStream
    private let parts: [Part]
    private let state: Lock<State>
    /// A bit for each part that may have something to write, the lowest for the own one: most steps concern one part, and
    /// the others' sessions need not be locked. And `isNew`.
    private let news: Atomic<UInt32>
    /// A bit for each part whose space has ended.
    private let over = Atomic<UInt32>(0)
    private static let isNew: UInt32 = 1 << 31
    /// The access generation of the client's session by which the own part was asked last.
    private let generation = Atomic<UInt64>(.max)

    private init(_ own: SessionStream, _ parts: [Part], denied: [FeatureID], withoutRoom: [FeatureID]) {
        (self.own, self.parts) = (own, parts)
        news = Atomic(Self.isNew | 1 << (parts.count + 1) - 1)
        let covered = [own.beginning.number] + parts.map(\.stream.beginning.number)
        let unreset = Set(parts.indices.filter { parts[$0].received != nil })
        var id: [UInt8] = []
        Self.appendID(own.beginning.epoch, parts, covered, without: 0, unreset: unreset, to: &id)
        var opening: [UInt8] = []
        StreamEvents.opening(into: &opening)
        let shared = parts.flatMap(\.stream.beginning.features)
        StreamEvents.hello(
            session: own.session.id, epoch: own.beginning.epoch,
            resumed: own.beginning.isResumed && parts.allSatisfy(\.stream.beginning.isResumed),
            cursor: String(decoding: id, as: UTF8.self), heartbeat: own.session.shared.heartbeat,
            features: own.beginning.features + shared, shared: shared, into: &opening)
        for feature in denied { StreamEvents.denied(feature, into: &opening) }
        for feature in withoutRoom { StreamEvents.denied(feature, for: "too-many-stores", into: &opening) }
        state = Lock(State(opening: opening, covered: covered, unreset: unreset))
    }

    private static func appendID(
        _ epoch: String, _ parts: [Part], _ covered: [UInt64], without over: UInt32, unreset: Set<Int>,
        to bytes: inout [UInt8]
    ) {
        let start = bytes.count
        bytes.append(text: epoch)
        bytes.append(UInt8(ascii: "."))
        WireJSON.appendInteger(covered[0], to: &bytes)
        for index in parts.indices where over & 1 << (index + 1) == 0 {
            let count = bytes.count
            if unreset.contains(index), let received = parts[index].received {
                bytes += received
            } else {
                bytes += parts[index].name
                WireJSON.appendInteger(covered[index + 1], to: &bytes)
            }
            if bytes.count - start > BundleCursor.longest { bytes.removeLast(bytes.count - count) }
        }
    }

    // MARK: Opening

    /// A space that a stream shows.
    package struct Named: Sendable {
        package let space: Session
        package let features: [FeatureID]

        package init(_ space: Session, _ features: [FeatureID]) { (self.space, self.features) = (space, features) }
    }

    /// Opens the parts, each as `Session.openStream` does. A space whose features the client may not read is left out, which
    /// the stream tells; any other failure of a part is that of the stream.
    ///
    /// - Parameters:
    ///   - features: those of the client's own session, which may be none.
    ///   - denied: features of further spaces that the client may not read.
    ///   - withoutRoom: features of spaces beyond those that a stream may show.
    ///   - place: held as long as the stream exists.
    package static func open(
        _ session: Session, _ features: [FeatureID], _ spaces: [Named], denied: [FeatureID] = [],
        withoutRoom: [FeatureID] = [], from start: StreamStart, delta: DeltaForm? = nil,
        for client: SessionClient, holding place: (any AnyObject & Sendable)? = nil,
        completion: @escaping @Sendable (Result<StreamBundle, StoreError>) -> Void
    ) {
        session.openStream(
            .features(features), from: start, delta: delta, isPart: true, for: client, holding: place
        ) { result in
            switch result {
            case .failure(let error): completion(.failure(error))
            case .success(let own):
                let opening = Opening(own, spaces, denied, withoutRoom, start, completion)
                if spaces.isEmpty { return opening.finish([]) }
                for (index, named) in spaces.enumerated() {
                    named.space.open(named, client.in(session), start, own.beginning.epoch, delta) {
                        opening.opened(index, $0)
                    }
                }
            }
        }
    }

    /// The parts that have opened so far.
    private final class Opening: Sendable {
        private let own: SessionStream
        private let spaces: [Named]
        private let denied: [FeatureID]
        private let withoutRoom: [FeatureID]
        private let start: StreamStart
        private let results: Lock<[Result<SessionStream, StoreError>?]>
        private let completion: @Sendable (Result<StreamBundle, StoreError>) -> Void

        init(
            _ own: SessionStream, _ spaces: [Named], _ denied: [FeatureID], _ withoutRoom: [FeatureID],
            _ start: StreamStart, _ completion: @escaping @Sendable (Result<StreamBundle, StoreError>) -> Void
        ) {
            (self.own, self.spaces, self.denied, self.withoutRoom) = (own, spaces, denied, withoutRoom)
            (self.start, self.completion) = (start, completion)
            results = Lock(Array(repeating: nil, count: spaces.count))
        }

        func opened(_ index: Int, _ result: Result<SessionStream, StoreError>) {
            let all = results.withLock { results -> [Result<SessionStream, StoreError>]? in
                results[index] = result
                return results.contains { $0 == nil } ? nil : results.compactMap { $0 }
            }
            if let all { finish(all) }
        }

        func finish(_ all: [Result<SessionStream, StoreError>]) {
            var parts: [Part] = []
            var denied = denied
            var error: StoreError?
            for (named, result) in zip(spaces, all) {
                switch result {
                case .success(let stream):
                    parts.append(named.space.part(stream, named, start, own.beginning.epoch))
                case .failure(let refusal) where refusal.code == .forbidden: denied += named.features
                case .failure(let other): error = error ?? other
                }
            }
            // As a stream of one session does that may show none of the features it names.
            if error == nil, parts.isEmpty, own.filter == .features([]) {
                error = all.lazy.compactMap { if case .failure(let error) = $0 { error } else { nil } }.first
            }
            guard let error else {
                return completion(.success(StreamBundle(own, parts, denied: denied, withoutRoom: withoutRoom)))
            }
            for part in parts { part.stream.closed() }
            own.closed()
            completion(.failure(error))
        }
    }

    // MARK: Steps

    /// Attaches the connection. From now on `waker` is called if there is something to write.
    package func opened(_ waker: any StreamWaker) {
        own.opened(PartWaker(self, 0, waker))
        for (index, part) in parts.enumerated() {
            part.stream.opened(parts.count == 1 ? waker : PartWaker(self, index + 1, waker))
        }
    }

    /// Returns the next bytes to write. As that of a stream of one session, it is called after the socket took everything.
    package func nextStep() -> StreamStep {
        if news.load(ordering: .relaxed) & Self.isNew != 0 {
            news.bitwiseAnd(~Self.isNew, ordering: .relaxed)
            return .write(
                state.withLock { state in
                    defer { state.opening = [] }
                    return state.opening
                })
        }
        // Parts are written only to a client whose own part was judged by its access of now.
        let access = own.session.accessGeneration.load(ordering: .acquiring)
        if generation.load(ordering: .relaxed) != access {
            generation.store(access, ordering: .relaxed)
            // Its client may be another audience of every part.
            news.bitwiseOr(1 << (parts.count + 1) - 1, ordering: .relaxed)
        }
        if let step = nextOwnStep() { return step }
        let first = parts.count > 1 ? state.withLock { $0.next } : 0
        for offset in parts.indices {
            let index = (first + offset) % parts.count
            if !takeNews(of: index + 1) || over.load(ordering: .relaxed) & 1 << (index + 1) != 0 { continue }
            guard let (bytes, isAll) = nextStep(of: index) else {
                // The client's session knows why, if it is the reason.
                news.bitwiseOr(1, ordering: .relaxed)
                return nextOwnStep() ?? end(.rotate)
            }
            guard !bytes.isEmpty else { continue }
            if parts.count == 1 {
                return isAll && news.load(ordering: .acquiring) & 1 == 0 ? .writeAll(bytes) : .write(bytes)
            }
            state.withLock { $0.next = (index + 1) % parts.count }
            let others = news.bitwiseOr(1 << (index + 1), ordering: .acquiring).oldValue & ~(1 << (index + 1))
            return isAll && others == 0 ? .writeAll(bytes) : .write(bytes)
        }
        return .wait
    }

    /// True if a part may have something to write, which is noted again once it has written: it is asked until it waits.
    private func takeNews(of place: Int) -> Bool {
        // An only one wakes the connection itself.
        if place == 1, parts.count == 1 { return true }
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
    private func nextStep(of index: Int) -> (bytes: [UInt8], isAll: Bool)? {
        let step = parts[index].stream.nextPart()
        switch step.ending {
        case nil where step.epoch != parts[index].stream.beginning.epoch: return nil
        case nil: return (step.bytes.isEmpty ? [] : withID(step.bytes, index + 1, step.covered), step.isAll)
        case .ended?, .expired?:
            var bytes = step.bytes
            for feature in parts[index].stream.features { StreamEvents.end(feature, into: &bytes) }
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
            // A part of a space that has ended leaves the id, and one that is reset now joins it.
            guard state.unreset.remove(index - 1) != nil || covered > state.covered[index] || over & 1 << index != 0,
                bytes.last == UInt8(ascii: "\n")
            else { return bytes }
            state.covered[index] = max(state.covered[index], covered)
            // The block is closed again after the id.
            var block: [UInt8] = []
            block.reserveCapacity(bytes.count + 48 + 32 * parts.count)
            block += bytes[..<(bytes.count - 1)]
            block.append(literal: "id: ")
            Self.appendID(
                own.beginning.epoch, parts, state.covered, without: over, unreset: state.unreset, to: &block)
            block.append(literal: "\n\n")
            return block
        }
    }

    /// True if its client has lost its access: unsent bytes must not be sent.
    package var dropsUnsent: Bool { own.dropsUnsent || parts.contains { $0.stream.dropsUnsent } }

    /// A comment event that keeps the connection alive.
    package func ping() -> [UInt8] { own.ping() }

    /// Asks the stream to send its farewell and end.
    package func goAway(_ reason: GoAwayReason) { own.goAway(reason) }

    /// Handles the end of the connection, or that none came. A second call does nothing.
    package func closed(_ ending: StreamEnding = .cut) {
        for part in parts { part.stream.closed(ending) }
        own.closed(ending)
    }
}

extension Session {
    /// Opens the part of a bundle that shows this space.
    fileprivate func open(
        _ named: StreamBundle.Named, _ client: SessionClient, _ start: StreamStart, _ ownEpoch: String,
        _ delta: DeltaForm?, completion: @escaping @Sendable (Result<SessionStream, StoreError>) -> Void
    ) {
        guard let space else { preconditionFailure("a session that is no space has no part in a bundle") }
        var begin = StreamStart.now
        switch start {
        case .cursor(let text):
            let part = BundleCursor(text, of: ownEpoch)[space]
            begin = part.map { .part($0, of: reader(named, client)) } ?? .now
        // A space does not know what a rule kept from its client.
        case .earliest: begin = isJudged(named) ? .now : .earliest
        case .unspecified, .now, .part: break
        }
        openStream(
            .features(named.features), from: begin, delta: delta, isPart: true, for: client, completion: completion)
    }

    /// The reader by whose identity the named features are judged.
    private func reader(_ named: StreamBundle.Named, _ client: SessionClient) -> SpaceReader {
        SpaceReader(isJudged(named) ? client.principal : nil)
    }

    private func isJudged(_ named: StreamBundle.Named) -> Bool {
        named.features.contains { shared.features.definition(for: $0)?.spaces?.isForEveryone == false }
    }

    fileprivate func part(
        _ stream: SessionStream, _ named: StreamBundle.Named, _ start: StreamStart, _ ownEpoch: String
    ) -> StreamBundle.Part {
        guard let space else { preconditionFailure("a session that is no space has no part in a bundle") }
        var received: [UInt8]?
        if !stream.beginning.isResumed, case .cursor(let text) = start {
            received = BundleCursor(text, of: ownEpoch)[space].map {
                Array("~\(BundleCursor.name(space))\($0.check).\($0.number)".utf8)
            }
        }
        return StreamBundle.Part(
            stream: stream,
            name: Array(
                "~\(BundleCursor.name(space))\(reader(named, stream.client).check(of: stream.beginning.epoch)).".utf8),
            received: received)
    }
}

extension SessionStream {
    fileprivate var features: [FeatureID] { if case .features(let named) = filter { named } else { [] } }
}
