import EventStream
import Locking
import MVI
import SessionJournal

/// What a stream's connection is to do.
public enum SessionStreamStep: Sendable, Equatable {
    /// Write this, then ask again.
    case write([UInt8])
    /// Write this; after it there is nothing until `wake`.
    case writeAll([UInt8])
    /// Nothing now; `wake` will say when.
    case wait
    /// Write this, then end.
    case finish([UInt8])
}

/// One client's stream of one session: says what to write next, as bytes of server-sent events.
///
/// `next` is called by one thread at a time, and only after all it returned before was taken by the socket: that is
/// how a label counts as written.
public final class SessionStream: Sendable {
    /// Whose it is.
    public let session: Session
    let number: UInt64

    init(session: Session, number: UInt64) {
        self.session = session
        self.number = number
    }

    /// The connection is there: `waker` is told of news from now on.
    public func opened(_ waker: any StreamWaker) {
        session.core.withLock { core in
            guard let index = core.index(of: number) else { return }
            core.streams[index].waker = waker
        }
    }

    /// What to write next.
    public func next() -> SessionStreamStep {
        let now = session.environment.time.monotonic()
        return session.core.withLock { $0.nextStep(of: number, session: session, now: now) }
    }

    /// Something that shows the client that the connection lives.
    public func heartbeat() -> [UInt8] {
        let now = session.environment.time.sinceEpoch().components
        return StreamEvents.ping(
            milliseconds: UInt64(now.seconds) * 1_000 + UInt64(now.attoseconds / 1_000_000_000_000_000))
    }

    /// Asks the stream to say farewell and end.
    public func goAway(_ reason: GoAwayReason) {
        let waker = session.core.withLock { core -> (any StreamWaker)? in
            guard let index = core.index(of: number) else { return nil }
            core.streams[index].finish(reason)
            return core.streams[index].waker
        }
        waker?.wake()
    }

    /// The connection is gone, or never came. A second call does nothing.
    public func closed() {
        let now = session.environment.time.monotonic()
        let removed = session.core.withLock { core -> StreamState? in
            guard let index = core.index(of: number) else { return nil }
            core.lastTouch = now
            return core.streams.remove(at: index)
        }
        guard let removed else { return }
        session.environment.leaveStreamPlace()
        for watched in removed.watched { watched.store.endWatching() }
    }
}

extension SessionCore {
    /// A batch holds about this many bytes of states, and of labels, at most, so that catching up takes bounded memory.
    private static var batchBytes: Int { 64 * 1024 }

    /// Where a stream is, by bisection: a session may have very many.
    func index(of stream: UInt64) -> Int? {
        let index = place(of: stream)
        return index < streams.count && streams[index].number == stream ? index : nil
    }

    /// Where a stream of that number is or belongs.
    func place(of number: UInt64) -> Int {
        var low = 0
        var high = streams.count
        while low < high {
            let middle = (low + high) / 2
            if streams[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    fileprivate mutating func nextStep(of number: UInt64, session: Session, now: Duration) -> SessionStreamStep {
        guard let index = index(of: number), !streams[index].isOver else { return .finish([]) }
        if !streams[index].handedOut.isEmpty {
            for label in streams[index].handedOut {
                if let id = outbox.markWritten(label) { newlyWritten.append(id) }
            }
            streams[index].handedOut = []
        }
        if let shared = sharedStep(index, now: now) { return step(shared, index) }

        var bytes = streams[index].opening
        streams[index].opening = []
        if !streams[index].isAtRest { appendControl(index, into: &bytes) }
        appendBatch(index, epoch: session.epoch, now: now, into: &bytes)
        // The farewell comes in a step of its own, so that the labels before it count as written.
        if let reason = streams[index].goAway, streams[index].handedOut.isEmpty, streams[index].dirty.isEmpty,
            streams[index].nextLabel >= outbox.endNumber
        {
            streams[index].isOver = true
            bytes.append(contentsOf: StreamEvents.goAway(reason))
            return .finish(bytes)
        }
        return bytes.isEmpty ? .wait : step(bytes, index)
    }

    /// What to do with bytes. Labels among them count as written when the stream asks again.
    private func step(_ bytes: [UInt8], _ index: Int) -> SessionStreamStep {
        let isAll = streams[index].handedOut.isEmpty && streams[index].dirty.isEmpty && streams[index].goAway == nil
        return isAll && streams[index].nextLabel >= outbox.endNumber ? .writeAll(bytes) : .write(bytes)
    }

    private mutating func appendControl(_ index: Int, into bytes: inout [UInt8]) {
        if let reset = streams[index].reset {
            StreamEvents.reset(reset.reason, labelsLost: reset.labelsLost, into: &bytes)
            if reset.labelsLost { heard(streams[index].filter) }
            streams[index].reset = nil
        }
        for feature in streams[index].ended { StreamEvents.end(feature, into: &bytes) }
        streams[index].ended = []
    }

    /// A stream tells its client that labels are lost: nobody else need be told.
    private mutating func heard(_ filter: StreamFilter) {
        for index in stores.indices where filter.shows(stores[index].feature) { stores[index].marks.hasUnheard = false }
        if filter == .all { marks.hasUnheard = false }
        marksChanged = true
    }

    /// States first, then labels in order. The last label of each turn carries that turn's cursor, the last event of
    /// the batch the batch's: everything that the stream shows up to there has been written with it.
    private mutating func appendBatch(_ index: Int, epoch: String, now: Duration, into bytes: inout [UInt8]) {
        let place = streams.count > 1 && streams[index].isAtRest && bytes.isEmpty ? StreamPlace(self, index) : nil
        // Many large states take several steps, so that what waits for a socket is bounded; labels, and the cursor that
        // stands for all of it, come with the last.
        let dirtyCount = dirtyCount(index)
        let isComplete = dirtyCount == streams[index].dirty.count
        let labels = isComplete ? takeLabels(index, now: now) : []
        let isCaughtUp = isComplete && streams[index].nextLabel >= outbox.endNumber
        for position in 0..<dirtyCount {
            guard let store = stores.index(of: streams[index].dirty[position]) else { continue }
            bytes.reserveCapacity(bytes.count + stores[store].view.count + 192)
            if position == dirtyCount - 1, labels.isEmpty, isCaughtUp {
                StreamEvents.id(epoch: epoch, sequence: sequence, into: &bytes)
            }
            StreamEvents.state(
                stores[store].feature, version: stores[store].version, intent: stores[store].intentID,
                stores[store].view, into: &bytes)
        }
        if isComplete {
            streams[index].dirty = []
        } else {
            streams[index].dirty.removeFirst(dirtyCount)
        }
        for (position, number) in labels.enumerated() {
            let entry = outbox[number]
            let isLast = position == labels.count - 1
            if isLast {
                StreamEvents.id(epoch: epoch, sequence: isCaughtUp ? sequence : entry.sequence, into: &bytes)
            } else if outbox[labels[position + 1]].sequence != entry.sequence {
                StreamEvents.id(epoch: epoch, sequence: entry.sequence, into: &bytes)
            }
            let isReplay =
                entry.sequence <= streams[index].replayThrough && (streams[index].startedResumed || entry.isWritten)
            StreamEvents.label(entry, epoch: epoch, isReplay: isReplay, into: &bytes)
        }
        streams[index].handedOut = labels
        if let place, isCaughtUp, !bytes.isEmpty { share(bytes, labels, of: place, with: streams[index]) }
    }

    /// How many of the features' states to write now: as many as fill a batch, but at least one.
    private func dirtyCount(_ index: Int) -> Int {
        let count = streams[index].dirty.count
        var size = 0
        for position in 0..<count where count > 1 {
            if size >= Self.batchBytes { return position }
            size += stores[streams[index].dirty[position]]?.view.count ?? 0
        }
        return count
    }

    /// The numbers of the labels to write now; moves the stream's position behind them. It ends between turns, never
    /// inside one: a cursor stands for whole turns.
    private mutating func takeLabels(_ index: Int, now: Duration) -> [UInt64] {
        var labels: [UInt64] = []
        var size = 0
        var number = max(streams[index].nextLabel, outbox.firstNumber)
        while number < outbox.endNumber {
            let entry = outbox[number]
            if size >= Self.batchBytes, let last = labels.last, outbox[last].sequence != entry.sequence { break }
            if entry.expiry > now, streams[index].shows(entry.feature) {
                labels.append(number)
                size += entry.size
            }
            number += 1
        }
        streams[index].nextLabel = number
        return labels
    }
}
