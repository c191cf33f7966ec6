import Locking
import MVI
import SessionJournal

/// The visits of a space that need not be noted again: a visit is noted once a day, and again with a subject.
struct NotedVisits {
    private static let limit = 4_096
    private static let interval: Duration = .seconds(24 * 3600)

    private var visits: [String: (time: Duration, hasSubject: Bool)] = [:]

    func has(_ visit: Visit) -> Bool {
        guard let known = visits[visit.session] else { return false }
        return visit.lastUse - known.time < Self.interval && (known.hasSubject || visit.subject == nil)
    }

    mutating func note(_ new: [Visit]) {
        // One that is forgotten here is noted again.
        if visits.count + new.count > Self.limit { visits = [:] }
        for visit in new { visits[visit.session] = (visit.lastUse, visit.subject != nil) }
    }

    mutating func remove(_ sessions: [String]) { for session in sessions { visits[session] = nil } }
}

extension SessionBatch {
    /// Its part for the journal that few batches have.
    func rare(_ callers: [JudgedCaller]) -> RareBatch {
        RareBatch(expectedCallers: callers.compactMap(\.expected), visits: visits, heard: heard)
    }
}

extension SessionCore {
    /// Adds a caller of a space to the batch, with its visit if that is not noted.
    mutating func add(_ caller: JudgedCaller, _ visit: Visit?) {
        batch.add(caller)
        guard let visit, rare?.visits?.has(visit) != true,
            !batch.visits.contains(where: { $0.session == visit.session })
        else { return }
        batch.visits.append(visit)
    }

    /// Notes that the journal has a batch's visits.
    mutating func noteVisits(of batch: JournalBatch) {
        guard let visits = batch.rare?.visits, !visits.isEmpty else { return }
        let rare = makeRare()
        var noted = rare.visits ?? NotedVisits()
        noted.note(visits)
        rare.visits = noted
    }
}

/// A space to which a person sent something, for the person's export.
package struct VisitedSpace: Sendable, Hashable {
    package let space: SpaceName
    /// The person's name there; see `Sender.id`.
    package let sender: String
    /// Time since 1970, noted about once a day.
    package let lastUse: Duration
}

extension SessionTable {
    /// Returns the spaces to which a subject sent something.
    package func spaces(visitedBy subject: Subject) async throws(StoreError) -> [VisitedSpace] {
        let visits = try await awaitResult {
            environment.journal.visits(.subject(subject), limit: .max, done: $0)
        }.get()
        var found: [VisitedSpace] = []
        for visit in visits.sorted(by: { $0.space.text < $1.space.text }) {
            guard let space = try await records(.space(visit.space)).first else { continue }
            let sender = Sender.id(of: visit.visit.session, in: space.id)
            found.append(VisitedSpace(space: visit.space, sender: sender, lastUse: visit.visit.lastUse))
        }
        return found
    }
}

/// The deletion of subjects' data in spaces.
extension SessionTable {
    private static var visitsAtOnce: Int { 1_000 }
    private static var interval: Duration { .seconds(3600) }

    /// Deletes again what a crash or a restored backup left, once an hour. One node at a time looks.
    func forgetVisits(now: Moment) {
        guard !environment.features.shared.isEmpty, isNodesTurn(now) else { return }
        let isDue = totals.withLock { totals in
            guard now.monotonic >= totals.nextForgetting else { return false }
            totals.nextForgetting = now.monotonic + Self.interval
            return true
        }
        guard isDue else { return }
        Task(executorPreference: environment.executor) { [self] in
            do throws(StoreError) { _ = try await forgetVisits(.forgotten) } catch {
                environment.report(.notForgotten(error))
            }
        }
    }

    /// Deletes what forgotten subjects left in spaces. Returns the number of spaces; throws the first space's error, after
    /// the others.
    func forgetVisits(_ query: VisitQuery) async throws(StoreError) -> Int {
        var count = 0
        while true {
            let visits = try await awaitResult {
                environment.journal.visits(query, limit: Self.visitsAtOnce, done: $0)
            }.get()
            var places: [Place: Leftover] = [:]
            for found in visits where found.visit.isForgotten {
                guard let subject = found.visit.subject else { continue }
                places[
                    Place(space: found.key, subject: SubjectBytes(subject)),
                    default: Leftover(space: found.space, key: found.key, subject: subject)
                ].sessions.append(found.visit.session)
            }
            guard !places.isEmpty else { return count }
            var first: StoreError?
            for leftover in places.values {
                do throws(StoreError) {
                    try await forget(leftover)
                    count += 1
                } catch {
                    first = first ?? error
                }
            }
            if let first { throw first }
        }
    }

    private struct Place: Hashable {
        let space: SessionKey
        let subject: SubjectBytes
    }

    /// The traces of a subject's sessions in a space.
    private struct Leftover {
        let space: SpaceName
        let key: SessionKey
        let subject: Subject
        var sessions: [String] = []
    }

    private func forget(_ place: Leftover) async throws(StoreError) {
        var receipts: [ReceiptKey] = []
        var labels: [LabelID] = []
        switch await awaitResult({ done in space(place.space, permit: nil) { done($0) } }) {
        case .live(let space, _):
            let person = ForgottenPerson(
                subject: place.subject, senders: Set(place.sessions.map { space.senderID(of: $0) }))
            for (feature, action) in space.forgetting(person) {
                let result = await whereOwned(space) {
                    space.deliver(action, to: feature, once: nil, makesStore: false, completion: $0)
                }
                if case .failure(let error) = result, error.code != StoreError.noStore(feature).code {
                    throw error.inShared(feature)
                }
            }
            // It may be another node's still.
            if environment.lease != nil { await space.caughtUp() }
            let receivers =
                [Receiver.subject(place.subject)]
                + place.sessions.map { Receiver.session(Session.id(ofVisitor: $0)) }
            if space.hasMessages(to: receivers) {
                _ = try await whereOwned(space) { space.removeMessages(to: receivers, completion: $0) }.get()
            }
            (receipts, labels) = space.forget(place.sessions, person)
            await writeRecordings()
            environment.recordings.forget(place.key)
        case .ended, .unknown: break
        case .damaged(_, let error), .failed(let error): throw error
        }
        try await awaitResult {
            environment.journal.forget(
                visitsOf: place.sessions, receipts: receipts, labels: labels, in: place.key, done: $0)
        }.get()
    }
}

extension Session {
    func visit(of client: SessionClient, _ caller: Session) -> Visit {
        Visit(
            session: caller.visitor(client.credential), subject: client.principal?.identity,
            lastUse: shared.time.sinceEpoch())
    }

    /// The actions by which the space's stores remove a person.
    fileprivate func forgetting(_ person: ForgottenPerson) -> [(FeatureID, Delivery)] {
        core.withLock { $0.stores.map(\.feature) }.compactMap { feature in
            shared.features.definition(for: feature, in: space)?.forgetting(person).map { (feature, $0) }
        }
    }

    /// The session of a visitor. Another person's name has a suffix; see `visitor`.
    fileprivate static func id(ofVisitor name: String) -> String { String(name.prefix { $0 != "~" }) }

    /// Drops what is kept of a person and its sessions. Returns the keys of its receipts, and the labels to it.
    fileprivate func forget(_ sessions: [String], _ person: ForgottenPerson) -> ([ReceiptKey], [LabelID]) {
        let ids = Set(sessions.map { Self.id(ofVisitor: $0) })
        return core.withLock { core in
            core.rare?.visits?.remove(sessions)
            let labels = core.outbox.remove { label in
                switch label.to {
                case nil, .audience?: false
                case .sender(let id)?: person.senders.contains(id)
                case .session(let id)?: ids.contains(id)
                case .subject(let subject)?: subject == person.subject
                }
            }
            return (core.receipts.forget(callersOf: sessions), labels)
        }
    }
}

extension StoreError {
    fileprivate func inShared(_ feature: FeatureID) -> StoreError {
        StoreError(
            .unavailable, "The shared store \(feature) did not remove the person: \(self)", retryAfter: .seconds(5))
    }
}
