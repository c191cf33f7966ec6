import EventStream
import Locking
import MVI
import SessionJournal

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
    /// Opens a stream and hands it over: before this returns if the stores that it shows are in memory, else perhaps
    /// later, on another thread. The stores that the filter names are made if the session has none yet. If the session
    /// has too many streams, the oldest goes.
    public func openStream(
        _ filter: StreamFilter, from start: StreamStart,
        completion: @escaping @Sendable (Result<SessionStream, StreamRefusal>) -> Void
    ) {
        openStores(filter) { [self] result in
            switch result {
            case .failure(let refusal): completion(.failure(.store(refusal)))
            case .success:
                do throws(StreamRefusal) {
                    completion(.success(try makeStream(filter, from: start)))
                } catch {
                    completion(.failure(error))
                }
            }
        }
    }

    /// Brings the stores that a stream will show into memory, one after the other: they are few, and most are there.
    private func openStores(
        _ filter: StreamFilter, after last: FeatureID? = nil,
        then: @escaping @Sendable (Result<Void, StoreRefusal>) -> Void
    ) {
        var last = last
        while let next = nextStore(filter, after: last) {
            let isAtHand = core.withLock { $0.stores[next]?.handle != nil }
            guard isAtHand else {
                return openStore(next) { [self] result in
                    // A store that is kept of a feature that is served no more is not shown; one that is named must be.
                    if case .failure(let refusal) = result, filter != .all || refusal != .featureNotFound {
                        return then(.failure(refusal))
                    }
                    openStores(filter, after: next, then: then)
                }
            }
            last = next
        }
        then(.success(()))
    }

    private func nextStore(_ filter: StreamFilter, after last: FeatureID?) -> FeatureID? {
        let candidates =
            switch filter {
            case .all: core.withLock { $0.stores.map(\.feature) }
            case .features(let features): features
            }
        return candidates.filter { feature in last.map { feature.text > $0.text } ?? true }
            .min { $0.text < $1.text }
    }

    private func makeStream(_ filter: StreamFilter, from start: StreamStart) throws(StreamRefusal) -> SessionStream {
        guard environment.takeStreamPlace() else { throw .busy }
        let number = environment.nextNumber()
        let now = environment.time.monotonic()
        let limit = environment.limits.streamsPerSession
        let opened = core.withLock { core -> (stores: [any UntypedStore], superseded: [any StreamWaker])? in
            // Those that were told to go stay until their client has read it, or its time is over: a client that opens
            // streams and reads none must not take every place.
            guard !core.isEnded, !core.isEvicted, core.streams.count < 4 * limit else { return nil }
            core.lastTouch = now
            let superseded = core.supersede(limit: limit)
            return (core.open(number, filter, start, session: self), superseded)
        }
        guard let opened else {
            environment.leaveStreamPlace()
            throw isEnded ? .store(.sessionEnded) : .busy
        }
        for waker in opened.superseded { waker.wake() }
        for store in opened.stores { store.beginWatching() }
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
    ) -> [any UntypedStore] {
        let shown = stores.filter { $0.handle != nil && filter.shows($0.feature) }
            .sorted { $0.feature.text < $1.feature.text }
        let place = locate(start, filter, shown, epoch: session.epoch)
        var stream = StreamState(
            number: number, filter: filter, startedResumed: place.isReplay, replayThrough: sequence,
            nextLabel: place.label)
        StreamEvents.opening(into: &stream.opening)
        StreamEvents.hello(
            session: session.id, epoch: session.epoch, resumed: place.isResumed,
            cursor: Cursor(epoch: session.epoch, sequence: place.sequence),
            heartbeat: session.environment.heartbeat, features: shown.map(\.feature), into: &stream.opening)
        stream.reset = place.reset
        for slot in shown {
            if let handle = slot.handle { stream.watch(slot.feature, handle.store, number: slot.number) }
        }
        let watched = stream.watched.map(\.store)
        // Mostly the last; not where two are opened at once.
        streams.insert(stream, at: self.place(of: number))
        return watched
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
        _ start: StreamStart, _ filter: StreamFilter, _ shown: [StoreSlot], epoch: String
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
            let isOwed = shown.contains { $0.marks.hasUnheard } || filter == .all && marks.hasUnheard
            if isOwed { place.reset = (.overflow, true) }
            return place
        case .cursor(let text):
            guard let cursor = Cursor(text), cursor.epoch == epoch, cursor.sequence <= sequence else {
                return reset(.unknownCursor, filter, shown)
            }
            let dropped = max(
                shown.reduce(0) { max($0, $1.marks.droppedSequence) },
                filter == .all ? marks.droppedSequence : 0)
            guard dropped <= cursor.sequence else { return reset(.expired, filter, shown) }
            var place = Place(
                sequence: cursor.sequence, label: firstLabel(after: cursor.sequence), isResumed: true,
                isReplay: true)
            // What this client showed last was another store's, which could not be read any more.
            if shown.contains(where: { $0.replacedSequence > cursor.sequence }) {
                place.reset = (.storeReplaced, false)
            }
            return place
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

    private func reset(_ reason: ResetReason, _ filter: StreamFilter, _ shown: [StoreSlot]) -> Place {
        var place = unspecified(filter)
        // What was published before the start, to whomever, this client cannot get any more.
        let published = shown.contains { $0.marks.hasLabels } || (filter == .all && marks.hasLabels)
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
