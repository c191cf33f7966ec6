import Locking
import MVI
import SessionJournal
import Testing

/// One node's journal under test, with its received news.
final class TestedNode: Sendable {
    private struct Hearing {
        var news: [JournalNews] = []
        var waits: [(matches: @Sendable (JournalNews) -> Bool, answer: Answer<Void>)] = []
    }

    /// Its calls.
    let journal: TestedJournal
    private let shared: any SharedJournal
    let record: NodeRecord
    private let hearing = Lock(Hearing())

    init(_ number: Int, _ open: @Sendable () async throws -> any SharedJournal) async throws {
        let opened = try await open()
        shared = opened
        journal = try await TestedJournal(reopens: false) { opened }
        record = NodeRecord(id: .random(), address: "10.0.0.\(number):8080")
    }

    var id: NodeID { record.id }

    /// Returns a new owner of a session: this node, from a batch's head on.
    func owner(from batch: JournalBatch) -> SessionOwner { SessionOwner(node: id, fence: batch.head) }

    // MARK: Calls

    private func call<Value: Sendable>(
        _ name: String, _ start: (any SharedJournal, @escaping Done<Value>) -> Void
    ) async throws -> Value {
        let answer: Answer<Result<Value, StoreError>> = journal.start(name) { _, done in start(shared, done) }
        return try await answer.value.get()
    }

    func marks(of sessions: [SessionKey]) async throws -> [SessionKey: SessionMark] {
        try await call("marks") { $0.marks(of: sessions, done: $1) }
    }

    func areKnown(_ tokens: [TokenHash]) async throws -> Set<TokenHash> {
        try await call("areKnown") { $0.areKnown(tokens, done: $1) }
    }

    /// Returns the nodes that joined earlier under the address; nil for the node's own address.
    @discardableResult
    func join(at address: String? = nil) async throws -> [NodeRecord] {
        var joining = record
        joining.address = address ?? record.address
        return try await call("join") { [joining] in $0.join(joining, done: $1) }
    }

    func renew(isDraining: Bool = false) async throws -> [NodeRecord]? {
        var renewed = record
        renewed.isDraining = isDraining
        return try await call("renew") { $0.renew(renewed, done: $1) }?.nodes
    }

    func forget(_ node: NodeID, renewals: UInt64? = nil) async throws -> Bool {
        try await call("forget") { $0.forget(node, renewals: renewals, done: $1) }
    }

    func orphans(limit: Int = 100) async throws -> [OrphanedSession] {
        try await call("orphans") { $0.orphans(limit: limit, done: $1) }
    }

    func noteStreams(_ count: Int, of log: Log, limit: Int?) async throws -> Bool {
        try await call("noteStreams") { $0.noteStreams(count, of: log.key, on: id, limit: limit, done: $1) }
    }

    func claimAlarms(
        dueAt now: Duration = Sample.muchLater, for life: Duration = .seconds(3_600), limit: Int = 100
    ) async throws -> (due: [Alarm], next: Duration?) {
        try await call("claimAlarms") { $0.claimAlarms(dueAt: now, by: id, for: life, limit: limit, done: $1) }
    }

    /// Appends a log's next batch with an expected and a new owner.
    func append(
        _ batch: JournalBatch, by owner: SessionOwner?, change: OwnerChange? = nil
    ) async throws -> AppendResult {
        var batch = batch
        (batch.expectedOwner, batch.ownerChange) = (owner, change)
        return try await journal.append(batch)
    }

    /// Makes this node the owner of a session, replacing another one.
    func claim(
        _ log: inout Log, after owner: SessionOwner? = nil, working: [FeatureID] = [Sample.counter],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> SessionOwner {
        let batch = log.batch()
        let claimed = self.owner(from: batch)
        let result = try await append(batch, by: owner, change: .owned(claimed, working: working))
        try #require(result.isCommitted, "the claim ended as \(result)", sourceLocation: sourceLocation)
        log.head = batch.head
        return claimed
    }

    // MARK: News

    /// Starts to listen. Returns when it receives another node's news.
    func listen(to other: TestedNode) async throws {
        shared.listen { [weak self] news in self?.hear(news) }
        var told: Set<TokenHash> = []
        while !heard.contains(where: { $0.names(anyOf: told) }) {
            let token = Sample.tokenHash()
            told.insert(token)
            _ = try await other.journal.bury(token, until: Sample.muchLater).get()
        }
    }

    func tellContention(of session: SessionKey) { shared.tellContention(of: session) }

    /// All received news.
    var heard: [JournalNews] { hearing.withLock { $0.news } }

    /// Waits for news, including earlier ones.
    func hear(_ matches: @escaping @Sendable (JournalNews) -> Bool) async throws {
        let answer = Answer<Void> {}
        let isThere = hearing.withLock { hearing in
            if hearing.news.contains(where: matches) { return true }
            hearing.waits.append((matches, answer))
            return false
        }
        if isThere { answer.give(()) }
        try await answer.value
    }

    private func hear(_ news: JournalNews) {
        let answers = hearing.withLock { hearing in
            hearing.news.append(news)
            defer { hearing.waits.removeAll { $0.matches(news) } }
            return hearing.waits.filter { $0.matches(news) }.map(\.answer)
        }
        for answer in answers { answer.give(()) }
    }
}

extension JournalNews {
    func names(anyOf tokens: Set<TokenHash>) -> Bool {
        if case .known(let known) = self { !tokens.isDisjoint(with: known) } else { false }
    }

    func names(_ session: SessionKey) -> Bool {
        if case .changed(let changed) = self { changed.contains(session) } else { false }
    }

    func names(_ session: SessionKey, at head: SessionHead) -> Bool {
        if case .appended(let heads) = self { heads[session] == head } else { false }
    }

    func isContention(of session: SessionKey) -> Bool {
        if case .contended(session) = self { true } else { false }
    }

    var isOfNodes: Bool { if case .nodes = self { true } else { false } }
}
