import EventStream
import Locking
import MVI
import SessionJournal

/// The position at which a client's stream starts.
package enum StreamStart: Sendable, Equatable {
    /// No position given: before the oldest label that no stream received, otherwise now.
    case unspecified
    /// Before the oldest stored label.
    case earliest
    /// After all stored labels.
    case now
    /// After a cursor, as the client sent it.
    case cursor(String)
    /// After a position in a space's log, which was read as somebody; see `BundleCursor`.
    case part(BundleCursor.Part, of: SpaceReader)

    /// Reads the value of `Last-Event-ID` or `last_event_id`.
    package init(lastEventID: String?) {
        self =
            switch lastEventID {
            case nil, "": .unspecified
            case "earliest": .earliest
            case "now": .now
            case let text?: .cursor(text)
            }
    }
}

extension Session {
    /// Opens a stream: before this returns if its stores are in memory, otherwise perhaps later, on another thread.
    /// Creates the stores of the filter if the session has none. If the session has too many streams, the oldest is
    /// closed.
    ///
    /// - Parameters:
    ///   - withoutRoom: features of the filter for which the session's owner has no room.
    ///   - delta: the form in which it receives changes of view states that it has shown; nil for whole states.
    ///   - place: held as long as the stream exists.
    package func openStream(
        _ filter: StreamFilter, without withoutRoom: [FeatureID] = [], from start: StreamStart,
        delta: DeltaForm? = nil, isPart: Bool = false,
        for client: SessionClient = SessionClient(), holding place: (any AnyObject & Sendable)? = nil,
        completion: @escaping @Sendable (Result<SessionStream, StoreError>) -> Void
    ) {
        // A cursor from another node must be known here.
        confirm { [self] _ in
            openStreamNow(
                filter, without: withoutRoom, from: start, delta: delta, isPart: isPart, for: client, holding: place,
                completion: completion)
        }
    }

    private func openStreamNow(
        _ filter: StreamFilter, without withoutRoom: [FeatureID], from start: StreamStart, delta: DeltaForm?,
        isPart: Bool, for client: SessionClient, holding place: (any AnyObject & Sendable)?,
        completion: @escaping @Sendable (Result<SessionStream, StoreError>) -> Void
    ) {
        if let refusal = refusal(of: client) { return completion(.failure(refusal)) }
        let allowed = filter.without(judging(filter, of: client) { $1.denied })
        // A bundle may still show what spaces have.
        guard allowed != .features([]) || filter == allowed || isPart && space == nil else {
            return completion(.failure(.noAccess(isAnonymous: client.principal == nil)))
        }
        open(allowed.without(withoutRoom), for: client, isPartial: true) { [self] result in
            let opened = result.flatMap {
                makeStream(filter, from: start, delta, isPart: isPart, for: client, holding: place)
            }
            if case .success = opened, space == nil, let credential = client.credential {
                watchIdentity(of: credential)
            }
            guard case .success(let stream) = opened else { return completion(opened) }
            guard stream.entersAudiences() else {
                stream.closed()
                return completion(.failure(.tooManyAudiences))
            }
            noteStreamOpened { [self] isAllowed in
                if isAllowed {
                    stream.entersPresence()
                    return completion(opened)
                }
                stream.closed()
                completion(.failure(core.withLock { $0.refusal } ?? .tooManyStreams))
            }
        }
    }

    /// The factor by which streams, including ending ones, may exceed a session's maximum.
    static var streamsAtOnce: Int { 4 }

    private func makeStream(
        _ filter: StreamFilter, from start: StreamStart, _ delta: DeltaForm?, isPart: Bool, for client: SessionClient,
        holding place: (any AnyObject & Sendable)?
    ) -> Result<SessionStream, StoreError> {
        // Streams of a space are counted in the sessions of their clients.
        let credential = space == nil ? client.credential : nil
        guard space != nil || shared.streamPlaces.enter() else { return .failure(.tooManyStreams) }
        let number = shared.nextNumber()
        let now = shared.time.monotonic()
        let limit = shared.limits.streamsPerSession
        let lives = lives
        typealias Opened = (
            stores: [SessionStore], left: [FeatureID], superseded: ShortList<any StreamWaker>,
            beginning: SessionStream.Beginning
        )
        let opened = judging(filter, of: client) { core, access -> Result<Opened, StoreError> in
            if let refusal = core.refusal(of: client) { return .failure(refusal) }
            // Ending streams stay until their client has read the farewell or until their deadline: a client that opens
            // streams and reads none must not take every place.
            if space == nil {
                let count = core.streams.all.indices.count { core.streams.all[$0].credential === credential }
                guard count < Self.streamsAtOnce * limit else { return .failure(.tooManyStreams) }
                core.streams.supersede(limit: limit, of: credential, at: core.lastPosition(now: now))
            }
            core.lastTouch = now
            let superseded = core.streams.takeWakers()
            let (stores, left, beginning) = core.open(
                number, filter, start, delta, isPart, client, access, lives, session: self)
            if let index = core.streams.index(of: number) {
                (core.streams.all[index].opened, core.streams.all[index].place) = (now, place)
                if shared.features.haveAudiences(filter) {
                    core.streams.all[index].makeRare().scope = client.scoped("")
                    core.streams.haveAudiences = true
                }
            }
            return .success((stores, left, superseded, beginning))
        }
        let beginning: SessionStream.Beginning
        switch opened {
        case .failure(let error):
            if space == nil { shared.streamPlaces.leave() }
            return .failure(error)
        case .success(let (stores, left, superseded, began)):
            beginning = began
            for waker in superseded { waker.wake() }
            for store in stores { store.beginWatching() }
            for store in stores where store.isObserving {
                core.withLock { core in
                    if let index = core.streams.index(of: number) { core.streams.all[index].hold(store.feature) }
                }
                release(store, to: number)
            }
            bringBack(left)
        }
        if shared.lease != nil { lookAfterWork() }
        shared.metrics.streamsOpened.increment()
        return .success(
            SessionStream(
                session: self, number: number, filter: filter, client: client, showsChanges: delta != nil,
                beginning: beginning))
    }
}

extension SessionCore {
    /// Adds a stream. Returns the stores that it watches, and those of this build that left memory before it opened.
    fileprivate mutating func open(
        _ number: UInt64, _ filter: StreamFilter, _ start: StreamStart, _ delta: DeltaForm?, _ isPart: Bool,
        _ client: SessionClient, _ access: StreamAccess, _ lives: StoreLives?, session: Session
    ) -> (watched: [SessionStore], left: [FeatureID], beginning: SessionStream.Beginning) {
        let denied = access.denied
        // Streams of a space are counted in the sessions of their clients.
        let credential = life == .space ? nil : client.credential
        let shown = stores.filter { slot in
            slot.isShowable && filter.shows(slot.feature) && !denied.contains(slot.feature)
        }.sorted { $0.feature.text < $1.feature.text }
        noteAccess(of: credential, access)
        let reader = outbox.directedEnd > outbox.firstPlace ? LabelReader(client, in: session) : nil
        let place = locate(start, filter, shown, credential) { entry in
            filter.shows(entry.label.feature)
                && (entry.label.to == nil || reader?.isMeant(by: entry.label, nil) == true)
        }
        var stream = StreamState(
            number: number, filter: filter, credential: credential, replayThrough: head.number,
            nextLabel: place.label, startedResumed: place.isResumed || place.isReplay)
        let rare = stream.makeRare()
        rare.delta = delta.map { StreamDelta($0) }
        rare.denied = denied
        let beginning = SessionStream.Beginning(
            epoch: epoch, number: place.number, isResumed: place.isResumed, features: shown.map(\.feature))
        if isPart {
            rare.covered = place.number
        } else {
            StreamEvents.opening(into: &rare.opening)
            StreamEvents.hello(
                session: session.id, epoch: epoch, resumed: place.isResumed,
                cursor: Cursor(epoch: epoch, sequence: place.number).description,
                heartbeat: session.shared.heartbeat, features: beginning.features, into: &rare.opening)
        }
        rare.reset = place.reset
        if case .features(let named) = filter {
            rare.newlyDenied = named.filter { denied.contains($0) }
            rare.withoutRoom = named.filter {
                stores.count >= session.shared.limits.storesPerSession && stores.index(of: $0) == nil
                    && !denied.contains($0)
            }
        }
        var left: [FeatureID] = []
        for feature in features(of: filter, atMost: session.shared.limits.loadedStores) {
            guard let index = stores.index(of: feature), !stores[index].isShowable else { continue }
            // A store whose life is over has no state to wait for.
            if isPastLife(at: index, lives) { continue }
            stream.leaveOut(feature)
            // The session may have had other stores when this one's were loaded.
            if filter == .all, !denied.contains(feature), access.serves(feature), stores[index].store == nil {
                left.append(feature)
            }
        }
        for slot in shown {
            guard let store = slot.store else { continue }
            stream.markDirty(slot.feature, since: 0)
            stream.watches(store)
        }
        streams.add(stream)
        return (Array(stream.watched), left, beginning)
    }

    private struct Place {
        /// The cursor's number after which the stream starts.
        var number: UInt64
        /// The place of the first label to look at.
        var label: UInt64
        var isResumed = false
        /// True if all stored labels that are shown now are repetitions.
        var isReplay = false
        var reset: (reason: ResetReason, labelsLost: Bool)?
    }

    /// - Parameter isMeant: true for labels that the stream may show.
    private func locate(
        _ start: StreamStart, _ filter: StreamFilter, _ shown: [StoreSlot], _ credential: Credential?,
        _ isMeant: (Outbox.Entry) -> Bool
    ) -> Place {
        switch start {
        case .now:
            return Place(number: head.number, label: outbox.endPlace)
        case .earliest:
            guard let first = outbox.entries.first else { return Place(number: head.number, label: outbox.endPlace) }
            return Place(number: first.label.id.number - 1, label: first.place, isReplay: true)
        case .unspecified:
            var place = unspecified(credential, isMeant)
            if outbox.isUnheard(filter), life != .space { place.reset = (.overflow, true) }
            return place
        case .cursor(let text):
            return locate(after: BundleCursor.number(of: epoch, in: text), filter, shown, credential, isMeant)
        case .part(let part, let reader):
            return locate(
                after: part.check == reader.check(of: epoch) ? part.number : nil, filter, shown, credential, isMeant)
        }
    }

    /// - Parameter number: that of a cursor of this log; nil for another cursor.
    private func locate(
        after number: UInt64?, _ filter: StreamFilter, _ shown: [StoreSlot], _ credential: Credential?,
        _ isMeant: (Outbox.Entry) -> Bool
    ) -> Place {
        guard let number, number <= head.number else { return reset(.unknownCursor, credential, isMeant) }
        guard outbox.dropped(filter) <= number else { return reset(.expired, credential, isMeant) }
        var place = Place(number: number, label: outbox.firstPlace(after: number), isResumed: true, isReplay: true)
        // This client last showed a store that became unreadable and was replaced.
        if shown.contains(where: { $0.summary.replaced > number }) { place.reset = (.storeReplaced, false) }
        return place
    }

    /// Just before the oldest label of a shown feature that no stream received, otherwise at the head.
    private func unspecified(_ credential: Credential?, _ isMeant: (Outbox.Entry) -> Bool) -> Place {
        // A space owes a newcomer nothing.
        if life == .space { return Place(number: head.number, label: outbox.endPlace) }
        for entry in outbox.entries where isMeant(entry) && !entry.isWritten(to: credential) {
            return Place(number: entry.label.id.number - 1, label: entry.place)
        }
        return Place(number: head.number, label: outbox.endPlace)
    }

    private func reset(
        _ reason: ResetReason, _ credential: Credential?, _ isMeant: (Outbox.Entry) -> Bool
    ) -> Place {
        var place = unspecified(credential, isMeant)
        // This client cannot get labels before the start any more, whichever client they were for.
        let isPassedOver = outbox.entries.contains { $0.place < place.label && isMeant($0) }
        place.reset = (reason, outbox.lost.hasAny || isPassedOver)
        return place
    }
}

extension StoreError {
    fileprivate static let tooManyStreams = StoreError(.tooManyStreams, "Too many streams are open.")
    fileprivate static let tooManyAudiences = StoreError(
        .tooManyAudiences, "Streams of \(AudienceBook.most) audiences show the store, the maximum.")
}
