import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing
import WireJSON

@testable import Sessions

@Suite("87: messages between logs", .timeLimit(.minutes(5)))
struct MessageTests {
    @Test("87: a message runs in a shared store after the commit that told it, once")
    func once() async throws {
        let post = try PostOffice()
        let ann = try post.fixture.guest()
        try post.tell(["hello"], to: "board floor", from: ann)
        try await post.got(["hello"], at: "floor")
        try await post.isIdle(ann)
        post.fixture.time.advance(by: .seconds(10))
        _ = await post.fixture.table.fireDueReminders()
        #expect(try post.board("floor").got == ["hello"])
    }

    @Test("87: what one log tells another arrives in order, however much it is")
    func inOrder() async throws {
        let post = try PostOffice()
        let ann = try post.fixture.guest()
        let texts = (0..<120).map { "\($0)" }
        for start in stride(from: 0, to: 120, by: 40) {
            try post.tell(Array(texts[start..<start + 40]), to: "board floor", from: ann)
        }
        try await post.got(texts, at: "floor")
        try await post.isIdle(ann)
    }

    @Test("87: a session and each of a user's sessions get a message in a store of their own")
    func toSessions() async throws {
        let post = try PostOffice()
        let (ann, bob) = (try post.fixture.guest(), try post.fixture.guest())
        let users = [try await post.fixture.user("carl"), try await post.fixture.user("carl")]
        // A session without a turn is not stored, and is found only by its id in memory.
        try post.tell(["to bob"], to: "session \(bob.session.id)", from: ann)
        try await post.until { try post.box(bob).got == ["to bob"] }
        for user in users { try post.tell(["hi"], to: "board floor", from: user) }
        try post.tell(["to carl"], to: "subject carl", from: ann)
        try await post.until { try users.allSatisfy { try post.box($0).got == ["to carl"] } }
        #expect(try post.box(bob).got == ["to bob"])
        try await post.isIdle(ann)
    }

    @Test("87: what is refused, comes to nobody or has no reader is told to its teller, and holds up nothing behind it")
    func undelivered() async throws {
        let post = try PostOffice()
        let (ann, bob) = (try post.fixture.guest(), try post.fixture.guest())
        try post.tell(["hi"], to: "board floor", from: bob)
        // It waits for the message.
        try await awaitResult { post.fixture.table.end(bob.session, completion: $0) }.get()
        try post.tell(["no", "yes"], to: "board floor", from: ann)
        try post.tell(["late"], to: "session \(bob.session.id)", from: ann)
        try post.tell(["nobody"], to: "subject nobody", from: ann)
        try post.tell(["nowhere"], to: "board none", from: ann)
        try await post.until { try post.box(ann).got.count == 4 }
        #expect(
            Set(try post.box(ann).got)
                == ["lost no refused", "lost late gone", "lost nobody gone", "lost nowhere gone"])
        try await post.got(["hi", "yes"], at: "floor")
        try await post.isIdle(ann)
    }

    @Test("87: a feature that does not ask for what was not delivered is not told of it")
    func unasked() async throws {
        let post = try PostOffice()
        let ann = try post.fixture.guest()
        try post.tell(["unasked"], to: "subject nobody", from: ann)
        try await post.isIdle(ann)
        #expect(try post.box(ann).got.isEmpty)
    }

    @Test("87: an action that throws is tried five times; then both sides learn of it")
    func throwing() async throws {
        let post = try PostOffice()
        let ann = try post.fixture.guest()
        try post.tell(["throw", "next"], to: "board floor", from: ann)
        for tries in 1...4 {
            try await post.isWaiting(ann, tries: tries)
            #expect(try post.board("floor").failures == 0)
            post.fixture.time.advance(by: .seconds(64))
            _ = await post.fixture.table.fireDueReminders()
        }
        try await post.until { try post.box(ann).got == ["lost throw failed"] }
        try await post.got(["next"], at: "floor")
        #expect(try post.board("floor").failures == 1)
        try await post.isIdle(ann)
    }

    @Test("87: a turn that is undone tells nothing")
    func undone() async throws {
        let post = try PostOffice()
        let ann = try post.fixture.guest()
        let answer = try post.send(#"{"type":"tellAndFail","to":"board floor"}"#, from: ann)
        #expect(answer.told == "failed")
        try post.tell(["after"], to: "board floor", from: ann)
        try await post.got(["after"], at: "floor")
    }

    @Test("87: of a store that is disposed of, what it told still arrives")
    func disposed() async throws {
        let journal = FailingJournal()
        let post = try PostOffice(journal)
        let ann = try post.fixture.guest()
        journal.fails.withLock { $0 = .receivers }
        try post.tell(["last words"], to: "board floor", from: ann)
        try await post.isWaiting(ann)
        #expect(try await post.fixture.table.dispose(of: PostOffice.box) == 1)
        journal.fails.withLock { $0 = nil }
        post.fixture.time.advance(by: .seconds(10))
        _ = await post.fixture.table.fireDueReminders()
        try await post.got(["last words"], at: "floor")
        try await post.isIdle(ann)
    }

    @Test("87: a receiver that cannot commit is tried again, in order and once; one that cannot for a day is given up")
    func unavailable() async throws {
        let journal = FailingJournal()
        let post = try PostOffice(journal)
        let ann = try post.fixture.guest()
        try post.tell(["0"], to: "board floor", from: ann)
        try await post.got(["0"], at: "floor")
        journal.fails.withLock { $0 = .receivers }
        try post.tell(["1"], to: "board floor", from: ann)
        try await post.isWaiting(ann)
        try post.tell(["2"], to: "board floor", from: ann)
        post.fixture.time.advance(by: .seconds(3))
        _ = await post.fixture.table.fireDueReminders()
        #expect(try post.board("floor").got == ["0"])
        journal.fails.withLock { $0 = nil }
        post.fixture.time.advance(by: .seconds(60))
        _ = await post.fixture.table.fireDueReminders()
        try await post.got(["0", "1", "2"], at: "floor")

        journal.fails.withLock { $0 = .receivers }
        try post.tell(["3", "4"], to: "board floor", from: ann)
        try await post.isWaiting(ann)
        post.fixture.time.advance(by: .seconds(25 * 3600))
        _ = await post.fixture.table.fireDueReminders()
        try await post.until { try post.box(ann).got == ["lost 3 expired", "lost 4 expired"] }
        try await post.isIdle(ann)
    }

    @Test("87: a message whose end its teller could not commit is told again, and does not run twice", arguments: [false, true])
    func repeated(afterRestart: Bool) async throws {
        let journal = FailingJournal()
        let first = try PostOffice(journal)
        let ann = try first.fixture.guest()
        journal.fails.withLock { $0 = FailingJournal.Rule { $0.reminders.contains { if case .forgotten = $0 { true } else { false } } } }
        try first.tell(["1", "2"], to: "board floor", from: ann)
        try await first.got(["1", "2"], at: "floor")
        try await first.isWaiting(ann)
        journal.fails.withLock { $0 = nil }
        let second = afterRestart ? try PostOffice(journal.base) : first
        second.fixture.time.advance(by: .seconds(10))
        _ = await second.fixture.table.fireDueReminders()
        let back = SpaceClient(
            fixture: second.fixture, session: try second.fixture.table.live(ann.token), token: ann.token,
            credential: nil)
        try second.tell(["3"], to: "board floor", from: back)
        try await second.got(["1", "2", "3"], at: "floor")
        try await second.isIdle(back)
    }

    @Test("87: a server that ends after the commit tells the message after its next start")
    func afterRestart() async throws {
        let journal = FailingJournal()
        let first = try PostOffice(journal)
        let ann = try first.fixture.guest()
        journal.fails.withLock { $0 = .receivers }
        try first.tell(["1"], to: "board floor", from: ann)
        try await first.isWaiting(ann)
        let second = try PostOffice(journal.base)
        second.fixture.time.advance(by: .seconds(10))
        _ = await second.fixture.table.fireDueReminders()
        try await second.got(["1"], at: "floor")
    }

    @Test("87: messages that lead to messages end after sixteen, and a session may have 256 that wait")
    func limits() async throws {
        let post = try PostOffice()
        let ann = try post.fixture.guest()
        try post.tell(["on 20"], to: "board start", from: ann)
        // The first is the first in a row; the action that would tell the 17th throws.
        try await post.until { try post.board("even").failures + post.board("odd").failures > 0 || post.pauses() > 0 }
        #expect(try post.board("even").got.count + post.board("odd").got.count + post.board("start").got.count == 15)
        let all = (0..<257).map { "\($0)" }
        #expect(try post.send(PostOffice.telling(all, to: "board x"), from: ann).told == "failed")
        #expect(try post.send(#"{"type":"big","size":70000,"to":"board x"}"#, from: ann).told == "too large")
        #expect(try post.board("x").got.isEmpty)
        try post.tell(Array(all.dropLast()), to: "board x", from: ann)
        try await post.got(Array(all.dropLast()), at: "x")
    }

    @Test("87: of two deliveries of a message that arrive together one runs")
    func twice() async throws {
        let journal = HeldJournal()
        let post = try PostOffice(journal)
        let ann = try post.fixture.guest()
        try post.tell(["first"], to: "board floor", from: ann)
        try await post.got(["first"], at: "floor")
        let floor = try post.fixture.space("board:floor")
        let message = ToldMessage(
            to: try #require(FeatureID("board:floor")), action: Array(#"{"type":"get","text":"second"}"#.utf8),
            heard: HeardMessage(sender: [UInt8](repeating: 1, count: HeardMessage.senderSize), number: 5),
            origin: MessageOrigin(session: "s", number: 1, hops: 1), isLastTry: false)
        let outcomes = Lock<[String]>([])
        // What comes while an append is held is one batch.
        journal.hold()
        _ = floor.send(PostOffice.telling(["unasked"], to: "subject nobody"), to: message.feature)
        for _ in 0..<2 {
            floor.enqueue(MessageJob(floor, message) { outcome in outcomes.withLock { $0.append("\(outcome)") } })
        }
        journal.release()
        try await post.until { outcomes.withLock { $0.count == 2 } }
        #expect(outcomes.withLock { $0 } == ["ran", "replayed"])
        #expect(try post.board("floor").got == ["first", "second"])
    }

    @Test("87: after a loss of commits a number names another message")
    func names() throws {
        let heard = try ["before", "after"].map { epoch in
            let json = #"{"to":"board:x","hops":1,"epoch":"\#(epoch)","action":1}"#
            let stored = StoredReminder(
                feature: FeatureID(name: "box", key: nil), id: "‹message› 7.0", due: .zero, number: 0,
                action: Array(json.utf8))
            return try #require(Message(stored)).heard(from: "s")
        }
        #expect(heard[0].number == heard[1].number && heard[0].sender != heard[1].sender)
        #expect(heard.allSatisfy { $0.sender.count == HeardMessage.senderSize })
    }

    @Test("87: who watches a store does not learn which session told it something")
    func anonymous() async throws {
        let post = try PostOffice()
        let (ann, bob) = (try post.fixture.guest(), try post.fixture.guest())
        try post.tell(["first"], to: "board floor", from: bob)
        try await post.got(["first"], at: "floor")
        let stream = try bob.stream("board:floor")
        _ = try stream.events()
        try post.tell(["hello"], to: "board floor", from: ann)
        try await post.until { try stream.events().contains { $0.contains("hello") } }
        #expect(!String(decoding: stream.bytes, as: UTF8.self).contains(ann.session.id))
    }

    @Test("87: the deletion of a person removes what waits for the person in the spaces that the person visited")
    func forgotten() async throws {
        let journal = FailingJournal()
        let post = try PostOffice(journal)
        let (ann, bob) = (try await post.fixture.user("ann"), try post.fixture.guest())
        for client in [ann, bob] {
            _ = try client.send(PostOffice.telling(["hi"], to: "subject carl"), to: "board:floor").get()
        }
        try await post.until { try post.board("floor").got == ["lost hi gone", "lost hi gone"] }
        journal.fails.withLock { $0 = .receivers }
        for receiver in ["subject ann", "session \(ann.session.id)", "session \(bob.session.id)"] {
            // The session has to be stored for its id to name it.
            try post.tell(["unasked"], to: "subject nobody", from: ann)
            try post.tell(["unasked"], to: "subject nobody", from: bob)
            _ = try bob.send(PostOffice.telling(["secret"], to: receiver), to: "board:floor").get()
        }
        let floor = try post.fixture.space("board:floor")
        let feature = try #require(FeatureID("board:floor"))
        try await post.until { floor.core.withLock { $0.rare?.telling.isEmpty != false } }
        #expect(floor.keptMessages(of: feature).count == 3)
        _ = try await post.fixture.table.forget(Subject(issuer: "i", id: "ann"))
        #expect(floor.keptMessages(of: feature).map(\.receiver) == [.session(bob.session.id)])
    }

    @Test("87: the recordings of both logs name the message's turns")
    func recorded() async throws {
        let recordings = Lock<[RecordedTurn]>([])
        let post = try PostOffice(recordings: recordings)
        let ann = try post.fixture.guest()
        try post.tell(["hello"], to: "board floor", from: ann)
        try await post.got(["hello"], at: "floor")
        let texts = recordings.withLock { $0.map { String(decoding: $0.recording, as: UTF8.self) } }
        let told = try #require(recordings.withLock { $0.first { $0.feature == PostOffice.box && $0.number > 1 } })
        #expect(texts.contains { $0.contains(#""tells":["board:floor"]"#) })
        #expect(
            texts.contains { $0.contains(#""toldBy":"\#(ann.session.id)""#) && $0.contains(#""by":\#(told.number)"#) })
    }
}

@Suite("87: messages between nodes", .timeLimit(.minutes(5)))
struct MessageNodeTests {
    @Test("87: a message to a space of another node goes there, in order and once", arguments: [false, true])
    func forwarded(byAsking: Bool) async throws {
        let nodes = try PostPair(forwards: !byAsking)
        let (ann, bob) = (try nodes.here.fixture.guest(), try nodes.there.fixture.guest())
        try nodes.there.tell(["0"], to: "board floor", from: bob)
        try await nodes.there.got(["0"], at: "floor")
        try nodes.here.tell(["1", "2"], to: "board floor", from: ann)
        try await nodes.there.until {
            try [nodes.here, nodes.there].contains { try $0.board("floor").got == ["0", "1", "2"] }
        }
        try await nodes.here.isIdle(ann)
    }
}

/// A journal that does not commit what a test says.
private final class FailingJournal: InterposedJournal {
    let base: any Journal
    let fails = Lock<Rule?>(nil)

    /// An object, since each passage of a closure through the lock would wrap it once more.
    final class Rule: Sendable {
        let names: @Sendable (JournalBatch) -> Bool
        init(_ names: @escaping @Sendable (JournalBatch) -> Bool) { self.names = names }
        /// Commits of receivers.
        static let receivers = Rule { $0.rare?.heard.isEmpty == false }
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
private struct PostOffice {
    static let box = FeatureID(name: "box", key: nil)
    let fixture: SpaceFixture

    init(_ journal: any Journal = MemoryJournal(), recordings: Lock<[RecordedTurn]>? = nil) throws {
        fixture = try SpaceFixture(journal: journal, change: { limits in
            if recordings != nil { limits.recordings = RecordingLimit(turns: 100) }
            limits.intentRate = nil
        })
        if let recordings {
            fixture.table.environment.onAppend { turns in recordings.withLock { $0 += turns } }
        }
    }

    static func telling(_ texts: [String], to receiver: String) -> String {
        #"{"type":"tell","texts":[\#(texts.map { "\"\($0)\"" }.joined(separator: ","))],"to":"\#(receiver)"}"#
    }

    func send(_ body: String, from client: SpaceClient) throws -> Result<IntentOutcome, StoreError> {
        let answer = Box<Result<IntentOutcome, StoreError>>()
        client.session.send(IntentRequest(body: Array(body.utf8), client: client.own), to: Self.box) { answer.set($0) }
        return try #require(answer.value, "the answer was to come at once")
    }

    func tell(_ texts: [String], to receiver: String, from client: SpaceClient) throws {
        _ = try send(Self.telling(texts, to: receiver), from: client).get()
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

    /// Returns when a message waits for another try.
    func isWaiting(_ client: SpaceClient, tries: Int = 0) async throws {
        try await until {
            client.session.core.withLock { core in
                core.rare?.telling.isEmpty != false
                    && core.reminders.contains { !$0.isUnderWay && $0.tries >= tries && $0.lastLook != nil }
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
private struct PostPair {
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
