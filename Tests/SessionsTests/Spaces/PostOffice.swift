import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing
import WireJSON

@testable import Sessions

/// A journal that does not commit what a test says.
final class FailingJournal: InterposedJournal {
    let base: any Journal
    let fails = Lock<Rule?>(nil)

    /// An object, since each passage of a closure through the lock would wrap it once more.
    final class Rule: Sendable {
        let names: @Sendable (JournalBatch) -> Bool
        init(_ names: @escaping @Sendable (JournalBatch) -> Bool) { self.names = names }
        /// Commits of receivers.
        static let receivers = Rule { $0.rare?.heard.isEmpty == false }
        /// Commits of tellers that remove what was told.
        static let ends = Rule { batch in
            batch.reminders.contains { if case .forgotten = $0 { true } else { false } }
        }
    }

    init(_ base: any Journal = MemoryJournal()) { self.base = base }

    func append(_ batch: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult? {
        guard fails.withLock({ $0 })?.names(batch) != true else {
            return .failed(StoreError(.unavailable, "A test wants it so."))
        }
        return base.append(batch, done: done)
    }

    func perform<Value: Sendable>(
        _ operation: JournalOperation, _ done: @escaping Done<Value>,
        _ body: @escaping @Sendable (@escaping Done<Value>) -> Void
    ) {
        body(done)
    }
}

/// A server whose stores tell each other texts.
struct PostOffice {
    static let box = FeatureID(name: "box", key: nil)
    let fixture: SpaceFixture
    /// The messages that were reported as given up.
    let lost = Lock<[String]>([])

    init(
        _ journal: any Journal = MemoryJournal(), recordings: Lock<[RecordedTurn]>? = nil,
        storesPerSession: Int = 1_000, isNewer: Bool = false
    ) throws {
        fixture = try SpaceFixture(
            journal: journal, isNewer: isNewer,
            report: { [lost] report in
                if case .messageLost(let message, _) = report { lost.withLock { $0.append("\(message.reason)") } }
            },
            change: { limits in
                if recordings != nil { limits.recordings = RecordingLimit(turns: 100) }
                limits.intentRate = nil
                limits.storesPerSession = storesPerSession
            })
        if let recordings {
            fixture.table.environment.onAppend { turns in recordings.withLock { $0 += turns } }
        }
    }

    static func telling(_ texts: [String], to receiver: String) -> String {
        #"{"type":"tell","texts":[\#(texts.map { "\"\($0)\"" }.joined(separator: ","))],"to":"\#(receiver)"}"#
    }

    /// Sends an intent to the client's own store. Another thread may be removing what was told.
    func send(_ body: String, from client: SpaceClient) async -> Result<IntentOutcome, StoreError> {
        await awaitResult { done in
            client.session.send(IntentRequest(body: Array(body.utf8), client: client.own), to: Self.box) { done($0) }
        }
    }

    func tell(_ texts: [String], to receiver: String, from client: SpaceClient) async throws {
        _ = try await send(Self.telling(texts, to: receiver), from: client).get()
    }

    /// The same from a board.
    func tell(_ texts: [String], to receiver: String, from client: SpaceClient, at board: String) async throws {
        let space = try fixture.space("board:\(board)")
        let feature = try #require(FeatureID("board:\(board)"))
        let body = Array(Self.telling(texts, to: receiver).utf8)
        _ = try await awaitResult { done in
            space.send(IntentRequest(body: body, client: client.client), to: feature) { done($0) }
        }.get()
    }

    func board(_ key: String) throws -> Letters<BoardPlace>.State {
        try state(of: #require(FeatureID("board:\(key)")), in: try fixture.space("board:\(key)"), .init())
    }

    func box(_ client: SpaceClient) throws -> Letters<BoxPlace>.State {
        try state(of: Self.box, in: client.session, .init())
    }

    private func state<State: Decodable>(of feature: FeatureID, in session: Session, _ new: State) throws -> State {
        guard let shown = session.core.withLock({ $0.stores[feature]?.view }), !shown.isEmpty else { return new }
        return try WireJSON.decode(State.self, from: shown)
    }

    func until(_ condition: () throws -> Bool) async throws { while try !condition() { await Task.yield() } }

    func got(_ texts: [String], at board: String) async throws {
        try await until { try self.board(board).got.count >= texts.count }
        #expect(try self.board(board).got == texts)
    }

    /// Returns when nothing waits in the client's log.
    func isIdle(_ client: SpaceClient) async throws {
        try await until { client.session.core.withLock { $0.reminders.isEmpty && $0.rare?.telling.isEmpty != false } }
    }

    /// Advances both clocks when the look at reminders waits.
    func advance(by time: Duration) async throws {
        try await until { fixture.clock.sleeperCount > 0 }
        fixture.time.advance(by: time)
        fixture.clock.advance(by: time)
    }

    /// Returns when a message waits for another try, which is at a time after its due time or later.
    func isWaiting(_ client: SpaceClient, tries: Int = 0, until pause: Duration = .zero) async throws {
        try await until {
            client.session.core.withLock { core in
                core.rare?.telling.isEmpty != false
                    && core.reminders.contains {
                        !$0.isUnderWay && $0.tries >= tries && $0.lastLook != nil
                            && $0.notBefore - $0.stored.due >= pause
                    }
            }
        }
    }

    /// The number of messages of boards that wait for another try.
    func pauses() throws -> Int {
        try ["even", "odd"].reduce(0) { count, key in
            count + (try fixture.space("board:\(key)").core.withLock { $0.reminders.count { $0.tries > 0 } })
        }
    }
}

/// Two nodes whose stores tell each other texts.
struct PostPair {
    let here: PostOffice
    let there: PostOffice

    init(forwards: Bool) throws {
        let (cluster, kept) = (NodeJournal.Cluster(), MemoryJournal())
        here = try PostOffice(NodeJournal(kept, cluster))
        there = try PostOffice(NodeJournal(kept, cluster))
        for (node, name) in [(here, "here:1"), (there, "there:2"), (here, "here:1")] {
            node.fixture.table.listen()
            node.fixture.table.beat(at: name)
        }
        for (node, other) in [(here, there), (there, here)] {
            let other = other.fixture.table
            if forwards {
                node.fixture.table.connectMessages { message, token, _ in await other.deliver(message, to: token) }
            } else {
                node.fixture.table.environment.onNeed { _, token in
                    await withCheckedContinuation { done in other.giveAway(token) { _ in done.resume() } }
                }
            }
        }
    }
}
