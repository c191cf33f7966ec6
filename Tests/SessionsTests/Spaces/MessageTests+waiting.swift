import MVI
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

extension MessageTests {
    @Test("87: if its teller cannot commit the end of a refused message, nothing overtakes it until that is committed")
    func refusedAgain() async throws {
        let journal = FailingJournal()
        let post = try PostOffice(journal)
        let ann = try post.fixture.guest()
        journal.fails.withLock { $0 = .ends }
        try await post.tell(["no", "yes"], to: "board floor", from: ann)
        for _ in 0..<3 {
            try await post.isWaiting(ann)
            post.fixture.time.advance(by: .seconds(60))
            _ = await post.fixture.table.fireDueReminders()
        }
        try await post.isWaiting(ann)
        journal.fails.withLock { $0 = nil }
        post.fixture.time.advance(by: .seconds(600))
        _ = await post.fixture.table.fireDueReminders()
        try await post.isIdle(ann)
        #expect(try post.box(ann).got == ["lost no refused"])
        #expect(try post.board("floor").got == ["yes"])
    }

    @Test("87: a message to a store that a newer build wrote waits for a server of that build, and holds up no other")
    func newer() async throws {
        let journal = MemoryJournal()
        let newer = try PostOffice(journal, isNewer: true)
        try await newer.tell(["old"], to: "board floor", from: newer.fixture.guest())
        try await newer.got(["old"], at: "floor")
        let post = try PostOffice(journal)
        let ann = try post.fixture.guest()
        try await post.tell(["new"], to: "board floor", from: ann)
        try await post.isWaiting(ann)
        try await post.tell(["other"], to: "board hall", from: ann)
        try await post.got(["other"], at: "hall")
        post.fixture.time.advance(by: .seconds(3600))
        _ = await post.fixture.table.fireDueReminders()
        try await post.isWaiting(ann)
        let deployed = try PostOffice(journal, isNewer: true)
        deployed.fixture.time.advance(by: .seconds(8_000))
        _ = await deployed.fixture.table.fireDueReminders()
        try await deployed.got(["old", "new"], at: "floor")
        #expect(deployed.lost.withLock { $0.isEmpty } && post.lost.withLock { $0.isEmpty })
    }

    @Test("87: a message to a full session waits until there is room")
    func full() async throws {
        let post = try PostOffice(storesPerSession: 1)
        let (ann, bob) = (try post.fixture.guest(), try post.fixture.guest())
        let tally = FeatureID(name: "tally", key: nil)
        #expect(try bob.session.told(#"{"type":"add","amount":1}"#, to: tally) == "ran")
        try await post.tell(["late"], to: "session \(bob.session.id)", from: ann)
        try await post.isWaiting(ann)
        #expect(try await post.fixture.table.dispose(of: tally) == 1)
        post.fixture.time.advance(by: .seconds(60))
        _ = await post.fixture.table.fireDueReminders()
        try await post.until { try post.box(bob).got == ["late"] }
        try await post.isIdle(ann)
    }

    @Test("87: a turn that would tell too much while a receiver is not available can be tried again, and is no failure")
    func tooMany() async throws {
        let journal = FailingJournal()
        let post = try PostOffice(journal)
        let ann = try post.fixture.guest()
        journal.fails.withLock { $0 = .receivers }
        let (first, rest) = ((0..<200).map { "\($0)" }, (200..<300).map { "\($0)" })
        try await post.tell(first, to: "board floor", from: ann)
        try await post.isWaiting(ann)
        let answer = await post.send(PostOffice.telling(rest, to: "board floor"), from: ann)
        #expect(answer.code == .busy)
        #expect(try post.box(ann).failures == 0)
        journal.fails.withLock { $0 = nil }
        post.fixture.time.advance(by: .seconds(60))
        _ = await post.fixture.table.fireDueReminders()
        try await post.got(first, at: "floor")
        try await post.isIdle(ann)
        try await post.tell(rest, to: "board floor", from: ann)
        try await post.got(first + rest, at: "floor")
    }
}
