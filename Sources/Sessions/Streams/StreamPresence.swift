import EventStream
import Locking
import MVI
import SessionJournal
import WireJSON

/// A stream's client among those that look at the stores that it shows.
extension SessionStream {
    struct Presences {
        struct Use {
            let book: PresenceBook
            let id: String
            /// The number of the event that the stream has told last.
            var told: UInt64 = 0
        }

        /// The access generation of its client by which they were judged; nil if they have to be judged.
        var generation: UInt64?
        var uses: [FeatureID: Use] = [:]
        var isClosed = false
    }

    /// Has other clients see that this one looks. Called again if who it is, or what it may see, has changed.
    func entersPresence() {
        guard let presences else { return }
        let generation = accessGeneration
        let (shown, isComplete) = session.judging(filter, of: client) { core, access in
            core.presences(filter, without: access.denied, session.shared.features)
        }
        let viewer = shown.isEmpty ? nil : session.viewers(of: client).first
        let id = session.faceID(of: client)
        let now = Moment(session.shared.time)
        var changed: [PresenceBook] = []
        for (feature, write) in shown {
            guard let viewer else { continue }
            let text = session.face(viewer, feature, write)
            var isEntered = false
            while !isEntered, let book = session.presence(of: feature) {
                isEntered = presences.withLock { presences in
                    guard !presences.isClosed else { return true }
                    let known = presences.uses[feature]
                    if let known, known.id != id { known.book.leave(known.id, isAtOnce: true, now: now.monotonic) }
                    guard book.enter(id, text, isNew: known?.id != id, now) else { return false }
                    if known?.id != id {
                        presences.uses[feature] = Presences.Use(book: book, id: id, told: known?.told ?? 0)
                    }
                    return true
                }
                changed.append(book)
            }
        }
        let gone = presences.withLock { presences -> [PresenceBook] in
            if isComplete, viewer != nil || shown.isEmpty { presences.generation = generation }
            let gone = presences.uses.filter { use in !shown.contains { $0.feature == use.key } }
            for (feature, use) in gone {
                use.book.leave(use.id, isAtOnce: true, now: now.monotonic)
                presences.uses[feature] = nil
            }
            return gone.values.map(\.book)
        }
        for book in changed + gone { session.look(at: book) }
    }

    /// Adds what a step tells of other clients.
    func withPresence(_ step: StreamStep) -> StreamStep {
        guard let presences else { return step }
        let isKnown = presences.withLock { $0.generation == accessGeneration && filter.isNamed }
        if !isKnown { entersPresence() }
        switch step {
        case .write, .finish: return step
        case .writeAll(let bytes):
            let isNew = presences.withLock { $0.uses.values.contains { $0.book.number > $0.told } }
            return isNew ? .write(bytes) : step
        case .wait:
            var bytes: [UInt8] = []
            var count: UInt32 = 0
            presences.withLock { presences in
                for (feature, use) in presences.uses where use.book.number > use.told {
                    let (number, event) = use.book.event()
                    presences.uses[feature]?.told = number
                    bytes = bytes.isEmpty ? event : bytes + event
                    count += 1
                }
            }
            if bytes.isEmpty { return .wait }
            session.shared.metrics.count(EventTally(others: count))
            return .writeAll(bytes)
        }
    }

    /// - Parameter isAtOnce: true if its client may not look any more.
    func leave(_ presences: Lock<Presences>, isAtOnce: Bool) {
        let now = session.shared.time.monotonic()
        let left = presences.withLock { presences in
            presences.isClosed = true
            for use in presences.uses.values { use.book.leave(use.id, isAtOnce: isAtOnce, now: now) }
            defer { presences.uses = [:] }
            return presences.uses.values.map(\.book)
        }
        for book in left { session.look(at: book) }
    }
}

/// Writes what others are shown of a client as JSON; nil if it is only counted.
typealias FaceWriter = @Sendable (Viewer) throws(StoreError) -> [UInt8]?

extension SessionCore {
    /// The stores of a filter whose clients are shown to each other; and false if one of them is not in memory yet.
    fileprivate func presences(
        _ filter: StreamFilter, without denied: [FeatureID], _ features: FeatureRegistry
    ) -> (shown: [(feature: FeatureID, write: FaceWriter)], isComplete: Bool) {
        var (shown, isComplete): ([(FeatureID, FaceWriter)], Bool) = ([], true)
        for feature in self.features(of: filter, atMost: .max) where !denied.contains(feature) {
            guard features.definition(for: feature)?.hasPresence == true else { continue }
            guard let write = stores[feature]?.store?.presence else {
                isComplete = false
                continue
            }
            shown.append((feature, write))
        }
        return (shown, isComplete)
    }
}

extension Session {
    /// The name of a client among those that look.
    fileprivate func faceID(of client: SessionClient) -> String {
        client.caller.map { $0.visitor(client.credential) } ?? "\(client.credential?.number ?? 0)"
    }

    /// Calls the feature's code.
    fileprivate func face(_ viewer: Viewer, _ feature: FeatureID, _ write: FaceWriter) -> [UInt8]? {
        do throws(StoreError) {
            return try write(viewer)
        } catch {
            shared.report(.failure(Failure(stage: .view, intentID: .bootstrap, error: error), in: place(of: feature)))
            return nil
        }
    }

    /// The clients that look at a store; made for the first.
    fileprivate func presence(of feature: FeatureID) -> PresenceBook? {
        let now = shared.time.monotonic()
        return core.withLock { core in
            if let known = core.rare?.presences[feature] { return known }
            guard core.isLive else { return nil }
            // After a restart, or the end of another node, clients come back within the time for which one that left stays.
            let back = max(shared.started, shared.lease?.lastLoss ?? shared.started) + PresenceBook.grace
            let answered = shared.lease == nil ? now : now + PresenceBook.interval
            let hold = core.isRestored ? max(back, answered) : answered
            let book = PresenceBook(feature, hold: hold)
            core.makeRare().presences[feature] = book
            return book
        }
    }

    /// Tells streams, the feature and other nodes who looks at a store if that has changed, now or later.
    func look(at book: PresenceBook, due: Duration? = nil) {
        let now = shared.time.monotonic()
        let look = book.look(now: now, due: due)
        if let next = look.next { shared.after(next - now) { [weak self] in self?.look(at: book, due: next) } }
        if let faces = look.report {
            shared.tellOfPresence(PresenceReport(session: tokenHash, feature: book.feature, faces: faces))
        }
        if look.isChanged {
            let wakers = core.withLock { core in
                core.streams.change(showing: book.feature)
                return core.streams.takeWakers()
            }
            shared.wakeLater(Array(wakers))
            tellFeature(of: book)
        }
        guard look.isEmpty else { return }
        core.withLock { core in
            guard core.rare?.presences[book.feature] === book, book.retire() else { return }
            core.rare?.presences[book.feature] = nil
            core.rest()
        }
    }

    private func tellFeature(of book: PresenceBook) {
        guard let definition = shared.features.definition(for: book.feature), owningNode == nil, mayRun,
            let action = definition.viewersChanged(book.told.set.json)
        else { return }
        deliver(action, to: book.feature, once: nil, makesStore: false) { _ in }
    }

    /// See `TurnHost`.
    func viewers(of feature: FeatureID, _ definition: FeatureDefinition) -> KnownViewers {
        let book = core.withLock { $0.rare?.presences[feature] }
        return definition.viewers(book?.told.set.json ?? PresenceBook.Told().json)
    }

    /// Has exactly these clients look at a store in memory, without a stream, for tests of features.
    package func show(viewers clients: [SessionClient], of feature: FeatureID) {
        guard let write = core.withLock({ $0.stores[feature]?.store?.presence }), let book = presence(of: feature)
        else {
            return
        }
        book.become(
            clients.enumerated().map { place, client in
                let shown = viewers(of: client).first.flatMap { face($0, feature, write) }
                return Face(id: faceID(of: client), since: Int64(place), shown: shown)
            })
        look(at: book)
    }

    /// Takes another node's report of the clients that look at a store.
    func watched(_ feature: FeatureID, by faces: [Face], of node: NodeID) {
        guard shared.features.definition(for: feature)?.hasPresence == true else { return }
        let known = core.withLock { $0.rare?.presences[feature] }
        guard let book = faces.isEmpty ? known : known ?? presence(of: feature) else { return }
        let own = book.report(faces, from: node, now: shared.time.monotonic())
        if let own { shared.tellOfPresence(PresenceReport(session: tokenHash, feature: feature, faces: own)) }
        look(at: book)
    }

    /// The clients of this node that look at its stores.
    fileprivate var presences: [PresenceReport] {
        let books = core.withLock { Array(($0.rare?.presences ?? [:]).values) }
        return books.compactMap { book in
            book.faces.map { PresenceReport(session: tokenHash, feature: book.feature, faces: $0) }
        }
    }
}

/// The clients that look at a store on one node.
package struct PresenceReport: Sendable {
    /// The hash of the token that the session began with.
    package let session: TokenHash
    package let feature: FeatureID
    package let faces: [Face]

    package init(session: TokenHash, feature: FeatureID, faces: [Face]) {
        (self.session, self.feature, self.faces) = (session, feature, faces)
    }
}

extension SessionTable {
    /// The clients that look at stores on this node. Reported to other nodes every few seconds.
    package var presences: [PresenceReport] { sessions.flatMap(\.presences) }

    /// Takes reports of another node about sessions that are in memory here.
    package func watched(_ reports: [PresenceReport], of node: NodeID) {
        for report in reports {
            let session = shard(report.session).withLock { $0.sessions[report.session] }
            session?.watched(report.feature, by: report.faces, of: node)
        }
    }
}

extension Viewers {
    /// Reads viewers that were written as JSON. Those that cannot be read, since another release wrote them, are only
    /// counted.
    @usableFromInline
    init<F: Feature>(json: [UInt8], of type: F.Type) where F.Presence == Presence {
        let read = try? WireJSON.decode(WrittenViewers<Presence>.self, from: json)
        self.init(count: read?.count ?? 0, shown: read?.viewers.compactMap(\.value) ?? [])
    }
}

private struct WrittenViewers<Presence: Decodable>: Decodable {
    struct Shown: Decodable {
        let value: Presence?
        init(from decoder: any Decoder) { value = try? Presence(from: decoder) }
    }

    let count: Int
    let viewers: [Shown]
}
