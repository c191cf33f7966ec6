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
        try await post.tell(["hello"], to: "board floor", from: ann)
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
            try await post.tell(Array(texts[start..<start + 40]), to: "board floor", from: ann)
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
        try await post.tell(["to bob"], to: "session \(bob.session.id)", from: ann)
        try await post.until { try post.box(bob).got == ["to bob"] }
        for user in users { try await post.tell(["hi"], to: "board floor", from: user) }
        try await post.tell(["to carl"], to: "subject carl", from: ann)
        try await post.until { try users.allSatisfy { try post.box($0).got == ["to carl"] } }
        #expect(try post.box(bob).got == ["to bob"])
        try await post.isIdle(ann)
    }

    @Test("87: a session of a user that cannot take a message keeps it from no other session of the user")
    func toSomeSessions() async throws {
        let journal = FailingJournal()
        let post = try PostOffice(journal)
        let ann = try post.fixture.guest()
        let users = [try await post.fixture.user("carl"), try await post.fixture.user("carl")]
        for user in users { try await post.tell(["unasked"], to: "subject nobody", from: user) }
        for user in users { try await post.isIdle(user) }
        // Whichever is told first.
        for (failing, other, text) in [(users[0], users[1], "a"), (users[1], users[0], "b")] {
            let key = try #require(failing.session.core.withLock { $0.key })
            journal.fails.withLock { $0 = FailingJournal.Rule { $0.session == key && $0.rare?.heard.isEmpty == false } }
            try await post.tell([text], to: "subject carl", from: ann)
            try await post.isWaiting(ann)
            #expect(try post.box(other).got.last == text && post.box(failing).got.last != text)
            journal.fails.withLock { $0 = nil }
            post.fixture.time.advance(by: .seconds(60))
            _ = await post.fixture.table.fireDueReminders()
            try await post.isIdle(ann)
        }
        for user in users { #expect(try post.box(user).got == ["a", "b"]) }
    }

    @Test("87: what no feature of the server takes waits a day for a build that does; then its teller learns of it")
    func notServed() async throws {
        let post = try PostOffice()
        let ann = try post.fixture.guest()
        try await post.tell(["early"], to: "elsewhere x", from: ann)
        try await post.isWaiting(ann)
        #expect(try post.box(ann).got.isEmpty)
        post.fixture.time.advance(by: .seconds(25 * 3600))
        _ = await post.fixture.table.fireDueReminders()
        try await post.until { try post.box(ann).got == ["lost early expired"] }
        try await post.isIdle(ann)
    }

    @Test("87: what is refused, comes to nobody or has no reader is told to its teller, and holds up nothing behind it")
    func undelivered() async throws {
        let post = try PostOffice()
        let (ann, bob) = (try post.fixture.guest(), try post.fixture.guest())
        try await post.tell(["hi"], to: "board floor", from: bob)
        // It waits for the message.
        try await awaitResult { post.fixture.table.end(bob.session, completion: $0) }.get()
        try await post.tell(["no", "yes"], to: "board floor", from: ann)
        try await post.tell(["late"], to: "session \(bob.session.id)", from: ann)
        try await post.tell(["nobody"], to: "subject nobody", from: ann)
        try await post.tell(["nowhere"], to: "board none", from: ann)
        try await post.until { try post.box(ann).got.count == 4 }
        #expect(
            Set(try post.box(ann).got)
                == ["lost no refused", "lost late gone", "lost nobody gone", "lost nowhere gone"])
        try await post.got(["hi", "yes"], at: "floor")
        #expect(post.lost.withLock { $0.isEmpty })
        try await post.isIdle(ann)
    }

    @Test("87: a feature that does not ask for what was not delivered is not told of it")
    func unasked() async throws {
        let post = try PostOffice()
        let ann = try post.fixture.guest()
        try await post.tell(["unasked"], to: "subject nobody", from: ann)
        try await post.isIdle(ann)
        #expect(try post.box(ann).got.isEmpty)
    }

    @Test("87: an action that throws is tried five times; then both sides learn of it")
    func throwing() async throws {
        let post = try PostOffice()
        let ann = try post.fixture.guest()
        try await post.tell(["throw", "next"], to: "board floor", from: ann)
        for tries in 1...4 {
            try await post.isWaiting(ann, tries: tries)
            #expect(try post.board("floor").failures == 0)
            post.fixture.time.advance(by: .seconds(64))
            _ = await post.fixture.table.fireDueReminders()
        }
        try await post.until { try post.box(ann).got == ["lost throw failed"] }
        try await post.got(["next"], at: "floor")
        #expect(try post.board("floor").failures == 1)
        #expect(post.lost.withLock { $0 } == ["failed"])
        try await post.isIdle(ann)
    }

    @Test("87: a turn that is undone tells nothing")
    func undone() async throws {
        let post = try PostOffice()
        let ann = try post.fixture.guest()
        let answer = await post.send(#"{"type":"tellAndFail","to":"board floor"}"#, from: ann)
        #expect(answer.told == "failed")
        try await post.tell(["after"], to: "board floor", from: ann)
        try await post.got(["after"], at: "floor")
    }

    @Test("87: of a store that is disposed of, what it told still arrives")
    func disposed() async throws {
        let journal = FailingJournal()
        let post = try PostOffice(journal)
        let ann = try post.fixture.guest()
        journal.fails.withLock { $0 = .receivers }
        try await post.tell(["last words"], to: "board floor", from: ann)
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
        try await post.tell(["0"], to: "board floor", from: ann)
        try await post.got(["0"], at: "floor")
        journal.fails.withLock { $0 = .receivers }
        try await post.tell(["1"], to: "board floor", from: ann)
        try await post.isWaiting(ann)
        try await post.tell(["2"], to: "board floor", from: ann)
        post.fixture.time.advance(by: .seconds(3))
        _ = await post.fixture.table.fireDueReminders()
        #expect(try post.board("floor").got == ["0"])
        journal.fails.withLock { $0 = nil }
        post.fixture.time.advance(by: .seconds(60))
        _ = await post.fixture.table.fireDueReminders()
        try await post.got(["0", "1", "2"], at: "floor")

        journal.fails.withLock { $0 = .receivers }
        try await post.tell(["3", "4"], to: "board floor", from: ann)
        try await post.isWaiting(ann)
        post.fixture.time.advance(by: .seconds(25 * 3600))
        _ = await post.fixture.table.fireDueReminders()
        try await post.until { try post.box(ann).got == ["lost 3 expired", "lost 4 expired"] }
        #expect(post.lost.withLock { $0 } == ["expired", "expired"])
        try await post.isIdle(ann)
    }

    @Test(
        "87: a message whose end its teller could not commit is told again, and does not run twice",
        arguments: [false, true])
    func repeated(afterRestart: Bool) async throws {
        let journal = FailingJournal()
        let first = try PostOffice(journal)
        let ann = try first.fixture.guest()
        journal.fails.withLock { $0 = .ends }
        try await first.tell(["1", "2"], to: "board floor", from: ann)
        try await first.got(["1", "2"], at: "floor")
        try await first.isWaiting(ann)
        journal.fails.withLock { $0 = nil }
        let second = afterRestart ? try PostOffice(journal.base) : first
        second.fixture.time.advance(by: .seconds(10))
        _ = await second.fixture.table.fireDueReminders()
        let back = SpaceClient(
            fixture: second.fixture, session: try second.fixture.table.live(ann.token), token: ann.token,
            credential: nil)
        try await second.tell(["3"], to: "board floor", from: back)
        try await second.got(["1", "2", "3"], at: "floor")
        try await second.isIdle(back)
    }

    @Test("87: a message whose receiver is not available is told when its pause has ended, not with a later look")
    func promptly() async throws {
        let journal = FailingJournal()
        let post = try PostOffice(journal)
        let ann = try post.fixture.guest()
        journal.fails.withLock { $0 = .receivers }
        try await post.tell(["1"], to: "board floor", from: ann)
        try await post.isWaiting(ann)
        // The second pause is as long as the message is late by then.
        let looks = Task { [table = post.fixture.table] in await table.runReminders() }
        try await post.advance(by: .seconds(3))
        try await post.isWaiting(ann, until: .seconds(6))
        journal.fails.withLock { $0 = nil }
        try await post.advance(by: .seconds(4))
        try await post.got(["1"], at: "floor")
        looks.cancel()
        post.fixture.clock.advance(by: .seconds(60))
        await looks.value
    }

    @Test("87: a server that ends after the commit tells the message after its next start")
    func afterRestart() async throws {
        let journal = FailingJournal()
        let first = try PostOffice(journal)
        let ann = try first.fixture.guest()
        journal.fails.withLock { $0 = .receivers }
        try await first.tell(["1"], to: "board floor", from: ann)
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
        try await post.tell(["on 20"], to: "board start", from: ann)
        // The first is the first in a row; the action that would tell the 17th throws.
        try await post.until { try post.board("even").failures + post.board("odd").failures > 0 || post.pauses() > 0 }
        #expect(try post.board("even").got.count + post.board("odd").got.count + post.board("start").got.count == 15)
        let all = (0..<257).map { "\($0)" }
        #expect(await post.send(PostOffice.telling(all, to: "board x"), from: ann).told == "failed")
        #expect(await post.send(#"{"type":"big","size":70000,"to":"board x"}"#, from: ann).told == "too large")
        #expect(try post.board("x").got.isEmpty)
        try await post.tell(Array(all.dropLast()), to: "board x", from: ann)
        try await post.got(Array(all.dropLast()), at: "x")
    }

    @Test("87: of two deliveries of a message that arrive together one runs")
    func twice() async throws {
        let journal = HeldJournal()
        let post = try PostOffice(journal)
        let ann = try post.fixture.guest()
        try await post.tell(["first"], to: "board floor", from: ann)
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
        try await post.tell(["first"], to: "board floor", from: bob)
        try await post.got(["first"], at: "floor")
        let stream = try bob.stream("board:floor")
        _ = try stream.events()
        try await post.tell(["hello"], to: "board floor", from: ann)
        try await post.until { try stream.events().contains { $0.contains("hello") } }
        #expect(!String(decoding: stream.bytes, as: UTF8.self).contains(ann.session.id))
    }

    @Test("87: the deletion of a person removes what waits for the person in the spaces that the person visited")
    func forgotten() async throws {
        let journal = FailingJournal()
        let post = try PostOffice(journal)
        let (ann, bob) = (try await post.fixture.user("ann"), try post.fixture.guest())
        for client in [ann, bob] {
            try await post.tell(["hi"], to: "subject carl", from: client, at: "floor")
        }
        try await post.until { try post.board("floor").got == ["lost hi gone", "lost hi gone"] }
        for client in [ann, bob] {
            // The session has to be stored for its id to name it. A commit of a receiver may hold a turn of the same
            // session as well, so nothing is sent to either once these fail.
            try await post.tell(["unasked"], to: "subject unknown", from: client)
            try await post.isIdle(client)
        }
        journal.fails.withLock { $0 = .receivers }
        for receiver in ["subject ann", "session \(ann.session.id)", "session \(bob.session.id)"] {
            try await post.tell(["secret"], to: receiver, from: bob, at: "floor")
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
        try await post.tell(["hello"], to: "board floor", from: ann)
        try await post.got(["hello"], at: "floor")
        let texts = recordings.withLock { $0.map { String(decoding: $0.recording, as: UTF8.self) } }
        let told = try #require(recordings.withLock { $0.first { $0.feature == PostOffice.box && $0.number > 1 } })
        #expect(texts.contains { $0.contains(#""tells":["board:floor"]"#) })
        #expect(
            texts.contains { $0.contains(#""toldBy":"\#(ann.session.id)""#) && $0.contains(#""by":\#(told.number)"#) })
    }
}
