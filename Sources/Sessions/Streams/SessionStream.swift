import EventStream
import Locking
import MVI
import SessionJournal

/// One client's stream of one session. Returns the next bytes of server-sent events to write.
///
/// `nextStep` is called by one thread at a time, and only after the socket took everything that it returned before: so
/// it knows which labels were written.
package final class SessionStream: Sendable {
    /// The session of the stream.
    package let session: Session
    let number: UInt64
    let filter: StreamFilter
    let client: SessionClient
    let showsChanges: Bool
    let beginning: Beginning
    /// True for a stream of a space that shows only what everyone may read.
    let isForEveryone: Bool
    /// True if its client may see other views than others do, and the audiences that it belongs to.
    let hasAudiences: Bool
    let audiences = Lock(Audiences())
    /// Nil if its client does not see who else looks at a store.
    let presences: Lock<Presences>?
    var hasPresence: Bool { presences != nil }

    /// The position at which a stream began.
    struct Beginning: Sendable {
        let epoch: String
        let number: UInt64
        let isResumed: Bool
        let features: [FeatureID]
    }

    init(
        session: Session, number: UInt64, filter: StreamFilter, client: SessionClient, showsChanges: Bool,
        beginning: Beginning
    ) {
        (self.session, self.filter, self.client) = (session, filter, client)
        (self.showsChanges, self.number, self.beginning) = (showsChanges, number, beginning)
        isForEveryone = session.space != nil && session.shared.features.areForEveryone(filter)
        hasAudiences = session.shared.features.haveAudiences(filter)
        presences = session.shared.features.havePresence(filter) ? Lock(Presences()) : nil
    }

    /// Attaches the connection. From now on `waker` is called if there is something to write.
    package func opened(_ waker: any StreamWaker) {
        session.core.withLock { core in
            guard let index = core.streams.index(of: number) else { return }
            core.streams.all[index].waker = waker
        }
    }

    /// Returns the next bytes to write.
    package func nextStep() -> StreamStep {
        let now = session.shared.time.monotonic()
        if client.credential?.hasExpired(at: session.shared.time.sinceEpoch()) == true { cut(.identity) }
        guard showsChanges || hasAudiences else {
            let (step, tally) = session.judging(filter, of: client) { core, access in
                (core.nextStep(of: self, now: now, access), core.streams.takeTally(of: number))
            }
            session.shared.metrics.count(tally)
            return presences == nil ? step : withPresence(step)
        }
        let step = nextStepOfChanges(now: now)
        session.shared.metrics.count(session.core.withLock { $0.streams.takeTally(of: number) })
        return presences == nil ? step : withPresence(step)
    }

    /// Handles the end of the connection, or that none came. A second call does nothing.
    ///
    /// - Parameter ending: the reason for the end of the connection.
    package func closed(_ ending: StreamEnding = .cut) {
        let now = session.shared.time.monotonic()
        let removed = session.core.withLock { core -> StreamState? in
            let removed = core.removeStream(number)
            if removed != nil { core.lastTouch = now }
            return removed
        }
        guard let removed else { return }
        _ = audiences.withLock { audiences in
            defer { audiences.uses = [:] }
            return audiences.uses
        }
        if let presences { leave(presences, isAtOnce: removed.isCut || session.refusal(of: client) != nil) }
        session.shared.metrics.ended(removed.farewell.map { .told($0.reason) } ?? ending)
        // A bundle takes one place, with the part of its client's session.
        if session.space == nil { session.shared.streamPlaces.leave() }
        for store in removed.watched { store.endWatching() }
        session.noteStreamClosed()
    }
}

extension SessionCore {
    /// The approximate maximum bytes of states, and of labels, in a batch, so that catching up takes bounded memory.
    private static let batchBytes = 64 * 1024

    mutating func nextStep(
        of stream: SessionStream, now: Duration, _ access: StreamAccess, _ forms: StreamForms? = nil
    ) -> StreamStep {
        guard let index = streams.index(of: stream.number), !streams.all[index].isOver else { return .finish([]) }
        noteWritten(index)
        if streams.all[index].rare?.ended.count ?? 0 > StreamState.endLimit {
            streams.all[index].finish(.busy, at: lastPosition(now: now))
        }
        if let farewell = streams.all[index].farewell, farewell.last.map({ $0.deadline <= now }) ?? true {
            return end(index, farewell.reason, [])
        }
        if access.denied != streams.all[index].denied { changeAccess(index, access) }
        if !access.denied.isEmpty { streams.all[index].dirty.removeAll { access.denied.contains($0.feature) } }
        if let forms, !forms.views.isEmpty, !noteAudiences(index, forms) { return end(index, .busy, []) }
        if let rare = streams.all[index].rare, !rare.missed.isEmpty { noteMissed(rare, index, stream, forms) }
        if streams.lastStep != nil, let shared = sharedStep(index, stream, now: now, forms) {
            return step(shared, index)
        }

        var bytes: [UInt8] = []
        if let rare = streams.all[index].rare, !rare.isAtRest {
            swap(&bytes, &rare.opening)
            if !bytes.isEmpty { streams.tally.others += 1 }
            appendControl(rare, index, into: &bytes)
        }
        appendBatch(index, stream, now: now, access, forms, into: &bytes)
        // The farewell is a step of its own, so that the labels before it count as written.
        if let farewell = streams.all[index].farewell, !streams.all[index].isWaitingForSocket, !hasMore(index) {
            return end(index, farewell.reason, bytes)
        }
        streams.all[index].rest()
        rest()
        return bytes.isEmpty ? .wait : step(bytes, index)
    }

    private mutating func end(_ index: Int, _ reason: GoAwayReason, _ bytes: [UInt8]) -> StreamStep {
        streams.all[index].isOver = true
        if streams.all[index].isPart { return .finish(bytes) }
        streams.tally.others += 1
        return .finish(bytes + StreamEvents.goAway(reason))
    }

    /// Notes that the socket took the last step.
    private mutating func noteWritten(_ index: Int) {
        guard streams.all[index].isWaitingForSocket else { return }
        // In a space it is not known for each caller, so it is known for none.
        if life == .space { (streams.all[index].handedOut, streams.all[index].handedOutLoss) = ([], false) }
        for place in streams.all[index].handedOut {
            if let id = outbox.markWritten(place, to: streams.all[index].credential) { newlyWritten.append(id) }
        }
        streams.all[index].handedOut = []
        if streams.all[index].handedOutLoss { outbox.heard(streams.all[index].filter) }
        streams.all[index].handedOutLoss = false
    }

    /// Returns the step for bytes. Labels among them count as written at the next call.
    private func step(_ bytes: [UInt8], _ index: Int) -> StreamStep {
        let isAll = !streams.all[index].isWaitingForSocket && streams.all[index].farewell == nil && !hasMore(index)
        return isAll ? .writeAll(bytes) : .write(bytes)
    }

    /// True if the stream could show a state or a label now.
    private func hasMore(_ index: Int) -> Bool {
        streams.all[index].dirty.contains { isShown($0.feature) }
            || streams.all[index].nextLabel < endPlace(index) && streams.all[index].dirty.isEmpty
    }

    /// The place of the first label that the stream does not show now.
    private func endPlace(_ index: Int) -> UInt64 {
        min(outbox.endPlace, streams.all[index].lastPosition?.label ?? .max)
    }

    /// Changes the features that the principal may use.
    private mutating func changeAccess(_ index: Int, _ access: StreamAccess) {
        let before = streams.all[index].denied
        let rare = streams.all[index].makeRare()
        rare.denied = access.denied
        noteAccess(of: streams.all[index].credential, access)
        for feature in features(of: streams.all[index].filter, atMost: .max) {
            if access.denied.contains(feature), !before.contains(feature) {
                rare.newlyDenied.append(feature)
                rare.delta?.forget(feature)
                rare.seen.removeAll { $0.feature == feature }
            } else if before.contains(feature), !access.denied.contains(feature), let slot = stores[feature] {
                // A state that is not in memory is owed once it is loaded: its labels would wait for it for ever.
                if slot.store == nil {
                    self.makeRare().granted.append(feature)
                } else {
                    streams.all[index].markDirty(feature, since: head.number)
                }
            }
        }
    }

    private mutating func appendControl(_ rare: StreamState.Rare, _ index: Int, into bytes: inout [UInt8]) {
        if let reset = rare.reset {
            appendReset(reset, index, into: &bytes)
            streams.all[index].handedOutLoss = reset.labelsLost
            rare.reset = nil
        }
        for feature in rare.newlyDenied { StreamEvents.denied(feature, into: &bytes) }
        for feature in rare.withoutRoom { StreamEvents.denied(feature, for: "too-many-stores", into: &bytes) }
        streams.tally.others += UInt32(rare.newlyDenied.count + rare.withoutRoom.count)
        (rare.newlyDenied, rare.withoutRoom) = ([], [])
        for feature in rare.ended where !rare.denied.contains(feature) {
            StreamEvents.end(feature, into: &bytes)
            streams.tally.others += 1
        }
        rare.ended = []
        if let notice = rare.identityNotice, !notice.isTold {
            StreamEvents.identity(expiresIn: notice.seconds, into: &bytes)
            streams.tally.others += 1
            rare.identityNotice?.isTold = true
        }
    }

    private mutating func appendReset(
        _ reset: (reason: ResetReason, labelsLost: Bool), _ index: Int, into bytes: inout [UInt8]
    ) {
        var features: [FeatureID]?
        if streams.all[index].isPart, case .features(let named) = streams.all[index].filter { features = named }
        // A part that shows nothing has nothing to reset.
        if features?.isEmpty == true { return }
        StreamEvents.reset(reset.reason, labelsLost: reset.labelsLost, of: features, into: &bytes)
        streams.tally.reset = reset.reason
        streams.tally.others += 1
    }

    /// Appends states first, then labels in order. The last label of each turn carries that turn's cursor, the last
    /// event the batch's: the client has then received everything up to the cursor.
    private mutating func appendBatch(
        _ index: Int, _ stream: SessionStream, now: Duration, _ access: StreamAccess, _ forms: StreamForms?,
        into bytes: inout [UInt8]
    ) {
        let before = streams.tally
        let place =
            streams.all.count > 1 && streams.all[index].isAtRest && bytes.isEmpty
            ? StreamPlace(self, index, forms) : nil
        // Many large states take several steps, so that the bytes that wait for a socket are bounded.
        let states = takeStates(index, forms)
        let labels = takeLabels(index, stream, now: now, access, forms)
        let isCaughtUp = streams.all[index].dirty.isEmpty && streams.all[index].nextLabel >= endPlace(index)
        let end = min(head.number, streams.all[index].lastPosition?.number ?? .max)
        for (position, store) in states.enumerated() {
            bytes.reserveCapacity(bytes.count + stores[store].view.count + 192)
            if position == states.count - 1, labels.isEmpty, isCaughtUp { appendID(end, index, into: &bytes) }
            if stores[store].rare?.shown != nil {
                appendView(store, index, forms, into: &bytes)
            } else if let rare = streams.all[index].rare {
                appendChange(store, index, rare, forms?.patches ?? [:], into: &bytes)
            } else {
                streams.tally.states += 1
                StreamEvents.state(
                    stores[store].feature, version: stores[store].version, intent: stores[store].intent,
                    stores[store].view, into: &bytes)
            }
        }
        for (position, place) in labels.enumerated() {
            let entry = outbox[place]
            let number = entry.label.id.number
            if position == labels.count - 1 {
                appendID(isCaughtUp ? end : number, index, into: &bytes)
            } else if outbox[labels[position + 1]].label.id.number != number {
                appendID(number, index, into: &bytes)
            }
            let isReplay =
                number <= streams.all[index].replayThrough
                && (streams.all[index].startedResumed || entry.isWritten(to: streams.all[index].credential))
            StreamEvents.label(
                entry.label, version: streams.all[index].seen(entry.label.feature)?.version, epoch: epoch,
                isReplay: isReplay, life: entry.expiry - now, into: &bytes)
            streams.tally.labels += 1
            if isReplay { streams.tally.replayed += 1 }
        }
        if !labels.isEmpty { streams.all[index].handedOut = labels }
        if let place, isCaughtUp, !bytes.isEmpty {
            share(bytes, states, labels, of: place, with: streams.all[index], forms, streams.tally.told(since: before))
        }
    }

    private func appendID(_ number: UInt64, _ index: Int, into bytes: inout [UInt8]) {
        guard number < streams.all[index].rare?.heldFrom ?? .max else { return }
        if streams.all[index].isPart {
            streams.all[index].rare?.covered = number
            return
        }
        StreamEvents.id(epoch: epoch, sequence: number, into: &bytes)
    }

    /// Takes the places of the stores whose states are written now: as many as fit in a batch, at least one. Stores
    /// that are not in memory wait.
    private mutating func takeStates(_ index: Int, _ forms: StreamForms?) -> ShortList<Int> {
        var taken: ShortList<Int> = []
        if streams.all[index].dirty.isEmpty { return taken }
        if streams.all[index].dirty.count == 1, let store = stores.index(of: streams.all[index].dirty[0].feature),
            stores[store].isShowable, stores[store].rare?.shown == nil
        {
            streams.all[index].dirty = []
            taken.append(store)
            return taken
        }
        var rest: ShortList<StreamState.Dirty> = []
        var size = 0
        for dirty in streams.all[index].dirty {
            guard size < Self.batchBytes, let store = stores.index(of: dirty.feature), stores[store].isShowable else {
                rest.append(dirty)
                continue
            }
            let (isShown, later) = takeView(store, dirty, index, forms)
            if let later { rest.append(later) }
            guard isShown else { continue }
            taken.append(store)
            size += forms?.made(dirty.feature)?.size ?? stores[store].view.count
        }
        streams.all[index].dirty = rest
        return taken
    }

    /// Takes the places of the labels that are written now, and moves the stream's position behind them. Labels of
    /// turns whose states the stream has not shown wait. It ends between turns, since a cursor stands for whole turns.
    /// Labels of a feature that this build does not serve are held back: its rule for who may see them is unknown.
    private mutating func takeLabels(
        _ index: Int, _ stream: SessionStream, now: Duration, _ access: StreamAccess, _ forms: StreamForms?
    ) -> [UInt64] {
        let endPlace = endPlace(index)
        guard streams.all[index].nextLabel < endPlace else { return [] }
        var end = streams.all[index].dirty.map(\.since).min() ?? .max
        if let rare = streams.all[index].rare { end = rare.awaited.reduce(end) { min($0, $1.since) } }
        var labels: [UInt64] = []
        var size = 0
        var next = outbox.index(from: streams.all[index].nextLabel)
        while next < outbox.count {
            let entry = outbox.entries[next]
            if entry.place >= endPlace { break }
            let number = entry.label.id.number
            if number >= end { break }
            if size >= Self.batchBytes, let last = labels.last, outbox[last].label.id.number != number { break }
            if entry.expiry > now, streams.all[index].filter.shows(entry.label.feature),
                !isHidden(entry.label, from: index),
                entry.label.to == nil || isMeant(by: entry.label, index, stream, forms)
            {
                if streams.all[index].leftOut.contains(entry.label.feature) || !access.serves(entry.label.feature) {
                    let rare = streams.all[index].makeRare()
                    rare.heldFrom = min(rare.heldFrom, number)
                } else {
                    labels.append(entry.place)
                    size += entry.size
                }
            }
            next += 1
        }
        streams.all[index].nextLabel = next < outbox.count ? outbox.entries[next].place : outbox.endPlace
        return labels
    }
}

extension SessionCore {
    fileprivate mutating func removeStream(_ number: UInt64) -> StreamState? {
        let removed = streams.remove(number)
        if removed?.delta != nil, !streams.showsChanges {
            for index in stores.indices { stores[index].forgetPatches() }
        }
        return removed
    }
}

extension StreamState {
    /// True if a step was returned that counts when the socket took it.
    @inline(__always)
    fileprivate var isWaitingForSocket: Bool { !handedOut.isEmpty || handedOutLoss }
}
