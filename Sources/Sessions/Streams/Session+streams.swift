import EventStream
import Locking
import MVI

/// Where a client wants its stream to start.
public enum StreamStart: Sendable, Equatable {
    /// It says nothing: before the oldest label that no stream ever got, else now.
    case unspecified
    /// All labels that are kept.
    case earliest
    /// No label that is kept.
    case now
    /// After a cursor, as the client sent it.
    case cursor(String)

    /// From the value of `Last-Event-ID` or `last_event_id`.
    public init(lastEventID: String?) {
        self =
            switch lastEventID {
            case nil, "": .unspecified
            case "earliest": .earliest
            case "now": .now
            case let text?: .cursor(text)
            }
    }
}

/// Why there is no stream.
public enum StreamRefusal: Error, Sendable, Equatable {
    /// A store that it should show cannot be had.
    case store(StoreRefusal)
    /// Too many streams in all; later there may be room.
    case busy
}

extension Session {
    /// Opens a stream. The stores that the filter names are made if the session has none yet. If the session has too
    /// many streams, the oldest goes.
    public func openStream(_ filter: StreamFilter, from start: StreamStart) throws(StreamRefusal) -> SessionStream {
        if case .features(let features) = filter {
            for feature in features.sorted(by: { $0.text < $1.text }) {
                do throws(StoreRefusal) { _ = try openStore(feature) } catch { throw .store(error) }
            }
        }
        guard environment.takeStreamPlace() else { throw .busy }
        let number = environment.nextNumber()
        let now = environment.time.monotonic()
        let limit = environment.limits.streamsPerSession
        let opened = core.withLock { core -> (handles: [StoreHandle], superseded: [any StreamWaker])? in
            // Those that were told to go stay until their client has read it, or its time is over: a client that opens
            // streams and reads none must not take every place.
            guard !core.isEnded, core.streams.count < 4 * limit else { return nil }
            core.lastTouch = now
            let superseded = core.supersede(limit: limit)
            return (core.open(number, filter, start, session: self), superseded)
        }
        guard let opened else {
            environment.leaveStreamPlace()
            throw isEnded ? .store(.sessionEnded) : .busy
        }
        for waker in opened.superseded { waker.wake() }
        for handle in opened.handles { handle.beginWatching() }
        return SessionStream(session: self, number: number)
    }
}

extension SessionCore {
    /// Makes room for one more stream: the oldest are told to go. Those without a connection yet are told when it comes.
    fileprivate mutating func supersede(limit: Int) -> [any StreamWaker] {
        var wakers: [any StreamWaker] = []
        var staying = streams.count { $0.goAway == nil && !$0.isOver }
        for index in streams.indices where staying >= limit {
            guard streams[index].goAway == nil, !streams[index].isOver else { continue }
            streams[index].finish(.superseded)
            if let waker = streams[index].waker { wakers.append(waker) }
            staying -= 1
        }
        return wakers
    }

    /// Adds a stream; returns the stores that it watches.
    fileprivate mutating func open(
        _ number: UInt64, _ filter: StreamFilter, _ start: StreamStart, session: Session
    ) -> [StoreHandle] {
        let shown = stores.filter { id, _ in filter.shows(id) }
        let place = locate(start, filter, shown, epoch: session.epoch)
        var stream = StreamState(
            number: number, filter: filter, startedResumed: place.isReplay, replayThrough: sequence,
            nextLabel: place.label)
        let features = shown.keys.sorted { $0.text < $1.text }
        StreamEvents.opening(into: &stream.opening)
        StreamEvents.hello(
            session: session.id, epoch: session.epoch, resumed: place.isResumed,
            cursor: Cursor(epoch: session.epoch, sequence: place.sequence),
            heartbeat: session.environment.heartbeat, features: features, into: &stream.opening)
        stream.reset = place.reset
        for feature in features {
            if let slot = shown[feature] { stream.watch(feature, handle: slot.handle, number: slot.number) }
        }
        let handles = stream.watched.values.map { $0.handle }
        streams.append(stream)
        return handles
    }

    private struct Place {
        /// The cursor's number that the stream starts after.
        var sequence: UInt64
        /// The first label to look at.
        var label: UInt64
        var isResumed = false
        /// Whether everything kept that is shown now is a repetition.
        var isReplay = false
        var reset: (reason: ResetReason, labelsLost: Bool)?
    }

    private func locate(
        _ start: StreamStart, _ filter: StreamFilter, _ shown: [FeatureID: StoreSlot], epoch: String
    ) -> Place {
        switch start {
        case .now:
            return Place(sequence: sequence, label: outbox.endNumber)
        case .earliest:
            guard outbox.count > 0 else { return Place(sequence: sequence, label: outbox.endNumber) }
            return Place(
                sequence: outbox[outbox.firstNumber].sequence - 1, label: outbox.firstNumber, isReplay: true)
        case .unspecified:
            var place = unspecified(filter)
            let isOwed = shown.values.contains { $0.hasUnheard } || filter == .all && unheardFloor
            if isOwed { place.reset = (.overflow, true) }
            return place
        case .cursor(let text):
            guard let cursor = Cursor(text), cursor.epoch == epoch, cursor.sequence <= sequence else {
                return reset(.unknownCursor, filter, shown)
            }
            let dropped = max(
                shown.values.reduce(0) { max($0, $1.droppedSequence) }, filter == .all ? droppedFloor : 0)
            guard dropped <= cursor.sequence else { return reset(.expired, filter, shown) }
            return Place(
                sequence: cursor.sequence, label: firstLabel(after: cursor.sequence), isResumed: true,
                isReplay: true)
        }
    }

    /// Just before the oldest label of a shown feature that no stream ever got, else at the head.
    private func unspecified(_ filter: StreamFilter) -> Place {
        var number = outbox.firstNumber
        while number < outbox.endNumber {
            let entry = outbox[number]
            if filter.shows(entry.feature), !entry.isWritten {
                return Place(sequence: entry.sequence - 1, label: number)
            }
            number += 1
        }
        return Place(sequence: sequence, label: outbox.endNumber)
    }

    private func reset(_ reason: ResetReason, _ filter: StreamFilter, _ shown: [FeatureID: StoreSlot]) -> Place {
        var place = unspecified(filter)
        // What was published before the start, to whomever, this client cannot get any more.
        let published = shown.values.contains { $0.hasLabels } || (filter == .all && labelledFloor)
        let startsBehindAll = place.label == outbox.firstNumber && outbox.firstNumber == 0
        place.reset = (reason, published && !startsBehindAll)
        return place
    }

    private func firstLabel(after sequence: UInt64) -> UInt64 {
        var low = outbox.firstNumber
        var high = outbox.endNumber
        while low < high {
            let middle = (low + high) / 2
            if outbox[middle].sequence <= sequence { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
