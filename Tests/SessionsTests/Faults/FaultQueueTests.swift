import Dispatch
import Locking
import MVI
import MVITesting
import SessionJournal
import Sessions
import TestSupport
import Testing
import WireJSON

/// Faults in running, judging and committing a store's jobs.
@Suite("Faults of the queue", .timeLimit(.minutes(10)))
struct FaultQueueTests {
    private let probe: FeatureID

    init() throws { probe = try Probes().first }

    /// An intent whose outcome cannot be stored.
    enum Unfit: CaseIterable {
        case tooLarge, notEncodable

        var intent: Probe.Intent { self == .tooLarge ? .fill(text: "bad", bytes: 5_000) : .spoil(text: "bad") }
        var told: String { self == .tooLarge ? "too large" : "not encodable" }
    }

    /// Runs three intents as one batch, the second of which is unfit, and returns the answers.
    private func runBatch(with unfit: Unfit, _ hooks: Probe.Hooks) throws -> [String] {
        let journal = HeldJournal()
        let table = try Cluster().node(Probe.definition(hooks), journal: journal, limits: { $0.stateBytes = 4_000 })
        let (session, _) = try table.made(.bearer)
        try session.told(.put(text: "new"), to: probe)
        journal.hold()
        let intents: [Probe.Intent] = [.put(text: "held"), .put(text: "good"), unfit.intent, .put(text: "better")]
        let answers = try intents.map { try session.send($0, to: probe) }
        journal.release()
        #expect(try session.entries(of: probe) == ["new", "held", "good", "better"])
        return answers.map(\.told)
    }

    @Test(
        "48: an intent whose state cannot be stored is refused alone; the others of its batch run once",
        arguments: Unfit.allCases)
    func unfitAlone(_ unfit: Unfit) throws {
        let executed = Collected<String>()
        let told = try runBatch(with: unfit, Probe.Hooks(execute: { executed.append($0.text) }))
        #expect(told == ["ran", "ran", unfit.told, "ran"])
        do {
            #expect(executed.all == ["new", "held", "good", "bad", "better"])
        }
    }

    @Test(
        "45: interceptors judge an intent once even if another of its batch cannot be kept", arguments: Unfit.allCases)
    func interceptedOnceBesideUnfit(_ unfit: Unfit) throws {
        let judged = Collected<String>()
        let hooks = Probe.Hooks(intercept: {
            judged.append($0.text)
            return $0
        })
        _ = try runBatch(with: unfit, hooks)
        do {
            #expect(judged.all == ["new", "held", "good", "bad", "better"])
        }
    }

    @Test("45: interceptors judge an intent once even after a conflict")
    func interceptedOnceOnConflict() throws {
        let judged = Collected<String>()
        let hooks = Probe.Hooks(intercept: {
            judged.append($0.text)
            return $0
        })
        let cluster = Cluster()
        let journal = HeldJournal(cluster.kept)
        let (session, token) = try cluster.node(Probe.definition(hooks), journal: journal).made(.bearer)
        try session.told(.put(text: "new"), to: probe)
        journal.hold()
        let answer = try session.send(.put(text: "second"), to: probe)
        try cluster.node(Probe.definition()).live(token).told(.put(text: "first"), to: probe)
        journal.release()
        #expect(answer.told == "ran")
        #expect(try session.entries(of: probe) == ["new", "first", "second"])
        do {
            #expect(judged.all == ["new", "second"])
        }
    }

    @Test("44: observers see an intent as interceptors changed it, even if its turn throws")
    func observedAsRewritten() async throws {
        let seen = Collected<String>()
        let hooks = Probe.Hooks(
            intercept: { _ in .fail(text: "rewritten") },
            observe: { if case .intent(let intent) = $0.event { seen.append(intent.text) } })
        let store = HostedStore(Probe(hooks: hooks))
        store.start()
        await #expect(throws: StoreError.self) { try await store.send(.fail(text: "sent")) }
        await store.observersCaughtUp()
        do {
            #expect(seen.all == ["rewritten"])
        }
    }

    @Test("44: observers are told of an interceptor that throws an error other than a refusal")
    func faultyInterceptor() async throws {
        let failures = Collected<String>()
        let hooks = Probe.Hooks(
            intercept: { _ in throw Probe.Broken() },
            observe: { if case .failed(let failure) = $0.event { failures.append("\(type(of: failure.error))") } })
        let store = HostedStore(Probe(hooks: hooks))
        store.start()
        await #expect(throws: StoreError.self) { try await store.send(.put(text: "a")) }
        await store.observersCaughtUp()
        do {
            #expect(failures.all == ["Broken"])
        }
        #expect(store.state.entries == [])
    }

    @Test(
        "49: a job that waits for its store survives a conflict of earlier jobs: it keeps its place, or ends")
    func waitingAndConflict() throws {
        for ends in [false, true] {
            let cluster = Cluster()
            let journal = HeldJournal(cluster.kept)
            let session = try cluster.node(Probe.definition(), journal: journal).made(.bearer).session
            let probes = try Probes()
            for probe in [probes.first, probes.second] { try session.told(.put(text: "old"), to: probe) }
            #expect(session.passivate(probes.second) == [])
            journal.holdStores()
            journal.hold()
            let opener = try session.send(.put(text: "opener"), to: probes.first)
            // They wait for its append and then form one batch.
            let first = try session.send(.put(text: "first"), to: probes.first)
            let second = try session.send(.put(text: "second"), to: probes.second)
            let third = try session.send(.put(text: "third"), to: probes.first)
            journal.releaseOne()
            #expect(opener.told == "ran")
            let theirs = try WireJSON.encode(Probe.State(entries: ["theirs"]))
            journal.writeElsewhere(probes.first, of: session.id, state: theirs, view: theirs)
            journal.releaseOne()
            #expect(first.told == "nothing")
            journal.letPass()
            journal.releaseOne()
            #expect(first.told == "ran")
            #expect([second.told, third.told] == ["nothing", "nothing"])
            if ends {
                session.end(.ended)
                #expect([second.told, third.told] == ["gone", "gone"])
            }
            journal.releaseLoads()
            guard !ends else { continue }
            #expect([second.told, third.told] == ["ran", "ran"])
            #expect(try session.entries(of: probes.first) == ["theirs", "first", "third"])
            #expect(try session.entries(of: probes.second) == ["old", "second"])
        }
    }

    @Test("2: no intent overtakes a bootstrap that is pending after failed commits")
    func bootstrapFirst() async throws {
        let probe = probe
        let entries = try await offThePool { () throws -> [String] in
            let cluster = Cluster()
            let journal = HeldJournal(cluster.kept)
            let executor = SteppedExecutor()
            let table = try cluster.node(
                Probe.definition(Probe.Hooks(bootstraps: true)), journal: journal, executor: executor,
                limits: { $0.stateBytes = 4_000 })
            let (session, _) = try table.made(.bearer)
            journal.hold()
            for intent in [Probe.Intent.put(text: "a"), .fill(text: "b", bytes: 5_000), .put(text: "c")] {
                session.send(IntentRequest(body: Array(try intent.body.utf8)), to: probe) { _ in
                    // Retries become due while failed commits are being answered.
                    executor.drain()
                    cluster.clock.advance(by: .milliseconds(250))
                    executor.drain()
                }
            }
            for _ in 0..<3 where journal.waiting > 0 { journal.endOne(.failed(.unavailable)) }
            journal.release()
            executor.drain()
            cluster.clock.advance(by: .seconds(1))
            executor.drain()
            try session.told(.put(text: "d"), to: probe)
            return try session.entries(of: probe)
        }
        #expect(entries.count { $0 == "bootstrap" } == 1 && entries.last == "d")
        do {
            #expect(entries.first == "bootstrap")
        }
    }

    @Test(
        "48: an intent is in one of the next batches, with any number of waiting work steps",
        arguments: [600, 2_000])
    func intentAmongSteps(_ steps: Int) async throws {
        let probe = probe
        let (told, appends) = try await offThePool { () throws -> (String, Int) in
            let journal = HeldJournal()
            let executor = SteppedExecutor()
            let hooks = Probe.Hooks(work: { work in
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<steps { group.addTask { await work.dispatch(.filled("step", bytes: 0)) } }
                }
            })
            let table = try Cluster().node(Probe.definition(hooks), journal: journal, executor: executor)
            let (session, _) = try table.made(.bearer)
            try session.told(.launch(text: "steps"), to: probe)
            journal.hold()
            executor.drain()
            let answer = try session.send(.put(text: "a"), to: probe)
            var appends = 0
            while answer.value == nil, journal.waiting > 0 {
                appends += 1
                journal.endOne(.committed)
                executor.drain()
            }
            let told = answer.told
            journal.release()
            executor.drain()
            return (told, appends)
        }
        do {
            #expect(told == "ran")
            #expect(appends <= 3)
        }
    }

    @Test("63: work that ignores its cancellation counts toward the limit of work until it ends")
    func stubbornWork() async throws {
        let latch = Latch()
        let running = Lock((now: 0, most: 0))
        let hooks = Probe.Hooks(
            work: { _ in
                running.withLock { running in
                    running.now += 1
                    running.most = max(running.most, running.now)
                }
                await latch.wait()
                running.withLock { $0.now -= 1 }
            }, policy: .cancelPrevious)
        let executor = TestExecutor()
        let store = HostedStore(
            Probe(hooks: hooks), environment: StoreEnvironment(executor: executor, workLimit: 3))
        store.start()
        var refused = 0
        for _ in 0..<10 {
            do { try await store.send(.launch(text: "work")) } catch { refused += 1 }
            await executor.idle()
        }
        let most = running.withLock { $0.most }
        do {
            // The limit, and the one that is being replaced.
            #expect(most <= 4)
            #expect(refused > 0)
        }
        latch.open()
        await executor.idle()
        try await store.send(.launch(text: "work"))
        await executor.idle()
        #expect(running.withLock { $0.now } == 0)
        store.dispose()
    }

    @Test("43, 44: an observer that blocks does not delay launched work of sessions")
    func blockingObserver() async throws {
        let worked = DispatchSemaphore(value: 0)
        let reached = Collected<Void>()
        let outcome = Collected<DispatchTimeoutResult>()
        let hooks = Probe.Hooks(
            observe: { observation in
                guard case .intent(.put) = observation.event else { return }
                reached.append(())
                // The other session's work releases it; the timeout is for a fault only.
                outcome.append(worked.wait(timeout: .now() + 60))
            },
            work: { work in
                await work.dispatch(.entered("worked"))
                worked.signal()
            })
        let executor = TestExecutor()
        let table = try Cluster().node(Probe.definition(hooks), executor: executor)
        let (observed, _) = try table.made(.bearer)
        let (other, _) = try table.made(.bearer)
        try observed.told(.put(text: "a"), to: probe)
        await reached.atLeast(1)
        try other.told(.launch(text: "b"), to: probe)
        await outcome.atLeast(1)
        do {
            #expect(outcome.all == [.success])
        }
        await executor.idle()
        #expect(try other.entries(of: probe) == ["worked"])
    }

    @Test("43: a turn counts as slow if its interceptor or its view is slow", arguments: ["interceptor", "view"])
    func slowBeside(_ place: String) throws {
        let slow = Collected<String>()
        @Sendable func spin(_ text: String?) {
            guard text == place else { return }
            let end = ContinuousClock.now + .milliseconds(80)
            while ContinuousClock.now < end {}
        }
        let hooks = Probe.Hooks(
            intercept: {
                if place == "interceptor" { spin($0.text) }
                return $0
            }, view: { if place == "view" { spin($0.entries.last) } })
        let table = try Cluster().node(
            Probe.definition(hooks), report: { if case .slowTurn(_, let id, _) = $0 { slow.append(id.text) } })
        let (session, _) = try table.made(.bearer)
        #expect(try session.told(.put(text: place), to: probe, name: .key("slow")) == "ran")
        do {
            #expect(slow.all == ["slow"])
        }
    }
}
