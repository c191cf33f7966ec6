import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

/// Faults in reading the commits of other writers.
@Suite("Faults of catching up", .timeLimit(.minutes(10)))
struct FaultLoadTests {
    /// A server whose appends and loads a test holds, with one session whose tally is at one.
    private struct Server {
        let kept = MemoryJournal()
        let journal: HeldJournal
        let executor = TestExecutor()
        let clock = ManualClock()
        let time = ManualTime()
        let reports = Collected<String>()
        let table: SessionTable
        let session: Session
        let token: SessionToken
        let tally = FeatureID(name: "tally", key: nil)

        init() throws {
            journal = HeldJournal(kept)
            table = SessionTable(
                environment: SessionEnvironment(
                    features: try FeatureRegistry([FeatureDefinition(Tally())]), journal: journal, time: time.source,
                    clock: clock, executor: executor,
                    report: { [reports] in if case .commitFailed(let error, _) = $0 { reports.append(error.detail) } },
                    adjust: { $0.jitter = { $0 } }))
            (session, token) = try table.made(.bearer)
            #expect(try session.told(#"{"type":"add","amount":1}"#, to: tally) == "ran")
        }

        /// Appends a label that no server wrote, as a person with a tool may.
        func damage() throws {
            let (key, head) = session.core.withLock { ($0.key, $0.head) }
            let next = SessionHead(number: head.number + 1, nonce: 1)
            let label = StoredLabel(
                id: LabelID(number: next.number, index: 0), feature: tally, version: 1, intent: nil,
                json: Array("{".utf8), expiry: time.source.sinceEpoch() + .seconds(60))
            let batch = JournalBatch(
                session: try #require(key), expecting: head, head: next, time: time.source.sinceEpoch(),
                labels: [label])
            guard case .committed? = kept.append(batch, done: { _ in }) else {
                Issue.record("the row was not kept")
                return
            }
        }

        var isDamaged: Bool {
            get throws { if case .damaged = try table.found(token) { true } else { false } }
        }
    }

    @Test("a conflict with damaged rows is answered and reported once, and the session can be ended")
    func damagedConflict() async throws {
        let server = try Server()
        let stream = try server.session.opened(.all, from: .now)
        _ = try stream.read()
        server.journal.hold()
        let first = server.session.send(#"{"type":"add","amount":1}"#, to: server.tally)
        let second = server.session.send(#"{"type":"add","amount":1}"#, to: server.tally)
        try server.damage()
        server.journal.release()
        #expect(first.told == "unavailable" && second.told == "unavailable")
        #expect(server.reports.all.count { $0.contains("a label is not JSON") } >= 1)
        let events = try stream.read()
        #expect(events.names == ["goaway"])
        #expect(try events.last?.json.reason == "drain")
        #expect(try server.isDamaged)
        #expect(server.clock.sleeperCount == 0)
        let count = server.reports.all.count
        await server.executor.idle()
        #expect(server.reports.all.count == count)
        // Nothing of it was removed before the session is ended.
        try server.table.ended(try #require(try server.table.found(server.token).session))
        #expect(try server.table.isEnded(server.token))
    }

    @Test("an append of unknown outcome whose session is damaged is answered, and never runs again")
    func damagedDoubt() async throws {
        let server = try Server()
        server.journal.hold()
        let answer = server.session.send(#"{"type":"add","amount":1}"#, to: server.tally)
        try server.damage()
        let appended = server.journal.appended
        server.journal.releaseOne(.unknown(StoreError(.unavailable, "A test wants it so.")))
        #expect(answer.told == "unavailable")
        #expect(server.journal.appended == appended)
        #expect(try server.isDamaged)
        #expect(server.session.queue.isIdle)
    }

    @Test("closing a journal during an in-doubt append ends no session: it leaves memory")
    func closed() throws {
        let server = try Server()
        let ended = Collected<String>()
        server.table.environment.onEnd { ended.append($0.id) }
        let stream = try server.session.opened(.all, from: .now)
        _ = try stream.read()
        server.journal.hold()
        let answer = server.session.send(#"{"type":"add","amount":1}"#, to: server.tally)
        server.journal.failLoads(.closed)
        server.journal.endOne(.lost)
        #expect(answer.told == "closed")
        #expect(try stream.read().last?.json.reason == "drain")
        #expect(ended.all.isEmpty)
    }

    @Test("repeated reads of an unreadable journal have growing delays and one report")
    func backoff() async throws {
        let server = try Server()
        server.journal.hold()
        _ = server.session.send(#"{"type":"add","amount":1}"#, to: server.tally)
        server.journal.failLoads(.unavailable)
        server.journal.endOne(.lost)
        let pauses = [250, 500, 1_000, 2_000, 4_000, 8_000]
        for (number, pause) in pauses.enumerated() {
            await server.executor.idle()
            if number == pauses.count - 1 { server.journal.failLoads(nil) }
            await server.clock.advance(by: .milliseconds(pause - 1), running: server.executor)
            #expect(try server.session.text(shownOf: server.tally).contains(":1"))
            await server.clock.advance(by: .milliseconds(1), running: server.executor)
        }
        #expect(try server.session.text(shownOf: server.tally).contains(":2"))
        #expect(server.reports.all.count == 1)
    }

    @Test("an append that is lost each time is repeated once at once, then with growing delays")
    func doubt() async throws {
        let server = try Server()
        let lost = AppendResult.unknown(StoreError(.unavailable, "A test wants it so."))
        server.journal.hold()
        let answer = server.session.send(#"{"type":"add","amount":1}"#, to: server.tally)
        for _ in 0..<2 { server.journal.releaseOne(lost) }
        for pause in [250, 500, 1_000] {
            await server.executor.idle()
            #expect(server.journal.waiting == 0)
            await server.clock.advance(by: .milliseconds(pause - 1), running: server.executor)
            #expect(server.journal.waiting == 0)
            await server.clock.advance(by: .milliseconds(1), running: server.executor)
            #expect(server.journal.waiting == 1)
            if pause < 1_000 { server.journal.releaseOne(lost) }
        }
        #expect(answer.value == nil)
        server.journal.release()
        #expect(answer.told == "ran")
    }

    private static let add = #"{"type":"add","amount":1}"#

    /// A server whose last append has an unknown outcome, and the answers to its clients, which came since it stays unknown.
    private func doubted(isCommitted: Bool) async throws -> (Server, Collected<String>) {
        let (server, answers) = (try Server(), Collected<String>())
        server.journal.hold()
        for key in ["doubted", "behind"] {
            server.session.send(IntentRequest(body: Array(Self.add.utf8), name: .key(key)), to: server.tally) {
                answers.append("\(key) \($0.told)")
            }
        }
        server.journal.failLoads(.unavailable)
        if isCommitted {
            server.journal.endOne(.lost)
        } else {
            server.journal.releaseOne(.unknown(StoreError(.unavailable, "A test wants it so.")))
        }
        await server.executor.idle()
        await server.clock.advance(by: .milliseconds(1_999), running: server.executor)
        // A database that restarts is back by then.
        #expect(answers.all.isEmpty)
        await server.clock.advance(by: .milliseconds(1), running: server.executor)
        #expect(answers.all == ["doubted unavailable", "behind unavailable"])
        // Later ones do not wait, and the key of the first is not free.
        #expect(try server.session.told(Self.add, to: server.tally) == "unavailable")
        #expect(try server.session.told(Self.add, to: server.tally, name: .key("doubted")) == "pending")
        return (server, answers)
    }

    @Test(
        "49: while a commit's outcome stays unknown, clients get 503, and keys tell the outcome later",
        arguments: [true, false])
    func late(isCommitted: Bool) async throws {
        let (server, answers) = try await doubted(isCommitted: isCommitted)
        server.journal.failLoads(nil)
        server.journal.release()
        await server.clock.advance(by: .seconds(20), running: server.executor)
        #expect(try server.session.told(Self.add, to: server.tally, name: .key("doubted")) == "replayed")
        #expect(try server.session.told(Self.add, to: server.tally, name: .key("behind")) == "ran")
        #expect(try server.session.text(shownOf: server.tally).contains(":3"))
        #expect(answers.all.count == 2)
        // Later ones wait for each other again.
        server.journal.hold()
        let later = (0..<2).map { _ in server.session.send(Self.add, to: server.tally) }
        server.journal.release()
        #expect(later.map(\.told) == ["ran", "ran"])
        #expect(server.session.queue.isIdle)
    }

    @Test("49: a client gets 503 if the journal tells that its intent is committed, but not what is behind it")
    func behind() async throws {
        let (server, answers) = (try Server(), Collected<String>())
        server.journal.hold()
        for key in ["committed", "waiting"] {
            server.session.send(IntentRequest(body: Array(Self.add.utf8), name: .key(key)), to: server.tally) {
                answers.append("\(key) \($0.told)")
            }
        }
        server.journal.holdLoads()
        server.journal.endOne(.lost)
        server.journal.writeElsewhere(
            server.tally, of: server.session.id, state: Array(#"{"sum":9}"#.utf8), view: Array(#"{"sum":9}"#.utf8))
        server.journal.failLoads(.unavailable)
        // This one; the next ones fail.
        server.journal.releaseLoads()
        await server.executor.idle()
        #expect(answers.all.isEmpty)
        await server.clock.advance(by: .seconds(2), running: server.executor)
        #expect(answers.all == ["committed unavailable", "waiting unavailable"])
        #expect(try server.session.told(Self.add, to: server.tally) == "unavailable")
        server.journal.failLoads(nil)
        server.journal.release()
        await server.clock.advance(by: .seconds(20), running: server.executor)
        #expect(try server.session.told(Self.add, to: server.tally, name: .key("committed")) == "replayed")
        #expect(try server.session.told(Self.add, to: server.tally, name: .key("waiting")) == "ran")
        #expect(answers.all.count == 2 && server.session.queue.isIdle)
    }

    @Test("49: intents that are to run again are refused with those that wait, and other jobs stay")
    func again() throws {
        let (queue, ended) = (TurnQueue(), Collected<String>())
        func job(_ name: String, _ lane: JobLane) -> FunctionJob {
            FunctionJob(lane, completion: { _ in ended.append(name) }, { _ in })
        }
        #expect(queue.enterIdle())
        #expect(
            queue.runAgain(JobBatch(first: job("a", .intents), others: [job("b", .steps), job("c", .intents)])) == nil)
        #expect(queue.runAgain(JobBatch(first: job("d", .intents))) == nil)
        guard case .queued = queue.enter(job("e", .intents), limit: 9) else { throw CancellationError() }
        for job in queue.refuse(StoreError(.unavailable, "late")) { job.end(StoreError(.unavailable, "late")) }
        #expect(ended.all == ["d", "a", "c", "e"])
        #expect(queue.next()?.jobs.map(\.lane) == [.steps] && queue.next() == nil)
    }

    @Test("49: an intent of unknown outcome whose client goes to another server runs once")
    func elsewhere() async throws {
        let (server, answers) = try await doubted(isCommitted: false)
        let other = SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry([FeatureDefinition(Tally())]), journal: server.kept,
                time: server.time.source, clock: server.clock, executor: server.executor, report: { _ in }))
        let there = try #require(try other.found(server.token).session)
        #expect(try there.told(Self.add, to: server.tally, name: .key("doubted")) == "ran")
        server.journal.failLoads(nil)
        server.journal.release()
        await server.clock.advance(by: .seconds(20), running: server.executor)
        #expect(try server.session.told(Self.add, to: server.tally, name: .key("doubted")) == "replayed")
        #expect(try server.session.text(shownOf: server.tally).contains(":2"))
        #expect(answers.all.count == 2)
    }

    @Test("an outcome that comes while clients are answered without it is handled after that")
    func meanwhile() {
        let doubt = Doubt()
        #expect(doubt.isOpen && doubt.beginAnswers())
        #expect(!doubt.end(with: .gone))
        #expect(doubt.endAnswers() != nil)
        #expect(!doubt.beginAnswers())
        let quick = Doubt()
        #expect(quick.end(with: .gone) && !quick.isOpen && !quick.beginAnswers())
    }
}
