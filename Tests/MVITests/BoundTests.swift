import Locking
import MVI
import MVITesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct BoundTests {
    let clock = ManualClock()
    let executor = TestExecutor()
    var environment: StoreEnvironment { StoreEnvironment(clock: clock, executor: executor, workLimit: 4) }

    /// Runs the requests of an intent: `launch`, `launch queued`, `replace`, `watch x`, `cancel x`, comma-separated.
    private static func ask(_ intent: String, _ turn: inout Turn<Script>) {
        turn.dispatch(intent)
        for part in intent.split(separator: ",") {
            let words = part.split(separator: " ").map(String.init)
            let id = WorkID(words.count > 1 ? words[1] : "none")
            switch words[0] {
            case "launch": turn.launch { try await $0.sleep(for: .seconds(1)) }
            case "queue": turn.launch(id: id, policy: .queue) { try await $0.sleep(for: .seconds(1)) }
            case "keep": turn.launch(id: id, policy: .keepPrevious) { try await $0.sleep(for: .seconds(1)) }
            case "replace": turn.launch(id: id, policy: .cancelPrevious) { try await $0.sleep(for: .seconds(1)) }
            case "watch": turn.whileWatched(id: id) { try await $0.sleep(for: .seconds(1)) }
            case "latest":
                turn.throttle(id: id, for: .seconds(1), latest: true) { try await $0.sleep(for: .seconds(1)) }
            case "throttle": turn.throttle(id: id, for: .seconds(1)) { try await $0.sleep(for: .seconds(1)) }
            default: turn.cancel(id)
            }
        }
    }

    private func failure(_ store: HostedStore<Script>, _ intent: String) async -> String? {
        do throws(StoreError) {
            try await store.send(intent)
            return nil
        } catch {
            guard let failure = error.failure else { return "\(error)" }
            return "\(failure.error)"
        }
    }

    static let tooMuch =
        "The turn would leave its store with more than 4 pieces of work that run, wait or are registered for watchers. "
        + "Give work an id and a policy, so that it replaces running work."

    @Test("34, 41: a turn that asks for more work than its store may have fails as if it had thrown, and is undone")
    func limit() async throws {
        let reports = Collected<Failure>()
        var environment = environment
        environment.report = { if case .failure(let failure, _) = $0 { reports.append(failure) } }
        let script = Script(
            onExecute: { intent, turn in Self.ask(intent, &turn) }, onThrow: { _, turn in turn.dispatch("failed") })
        let store = HostedStore(script, environment: environment)
        store.start()
        #expect(await failure(store, "launch,launch,launch,launch") == nil)
        #expect(await failure(store, "launch") == Self.tooMuch)
        #expect(store.messages == ["launch,launch,launch,launch", "failed"])
        #expect(store.diagnostics.runningWork == 4)
        #expect(reports.all.map { ($0.error as? WorkLimitExceeded)?.limit } == [4])
        await executor.idle()
        await clock.advance(by: .seconds(1), running: executor)
        #expect(store.diagnostics.runningWork == 0)
        #expect(await failure(store, "launch") == nil)
        store.dispose()
    }

    @Test("34: what waits in a queue, holds back others or is registered for watchers counts; what replaces does not")
    func counted() async {
        let cases: [(first: String, second: String, isTooMuch: Bool)] = [
            ("queue a,queue a,queue a,queue a", "queue a", true),
            ("queue a,queue a,queue a", "queue a", false),
            ("launch,launch,launch,replace a", "replace a", false),
            ("launch,launch,launch,keep a", "keep a", false),
            ("launch,launch,launch,keep a", "keep b", true),
            ("watch a,watch b,watch c,watch d", "watch a", false),
            ("watch a,watch b,watch c,watch d", "watch e", true),
            ("watch a,watch b,watch c,watch d", "cancel a,watch e", false),
            ("throttle a,throttle b", "throttle a", false),
            ("throttle a,throttle b", "throttle c", true),
            ("launch,launch,launch,launch", "cancel a", false),
            ("launch,latest a", "latest a", false),
            ("launch,latest a,latest a", "latest a", false),
            ("launch,launch,latest a", "latest a", true),
        ]
        for (first, second, isTooMuch) in cases {
            let store = HostedStore({ intent, turn in Self.ask(intent, &turn) }, environment: environment)
            #expect(await failure(store, first) == nil)
            #expect(await failure(store, second) == (isTooMuch ? Self.tooMuch : nil), "\(first), then \(second)")
            store.dispose()
        }
    }

    @Test("34, 48: what earlier turns of a batch ask for counts as well")
    func batch() async {
        let log = AppendLog<Script>.held
        let store = HostedStore({ intent, turn in Self.ask(intent, &turn) }, environment: environment, log: log)
        log.end()
        let told = Collected<Bool>()
        store.accept("none")
        for intent in ["launch,launch,launch", "launch", "launch", "replace a"] {
            store.accept(intent, completion: { told.append((try? $0.get()) != nil) })
        }
        log.end()
        log.end()
        #expect(told.all == [true, true, false, false])
        store.dispose()
    }

    @Test("63: work that ignores its cancellation counts until it ends; what a turn replaces itself does not, for it")
    func stubborn() async throws {
        let gate = Gate()
        let ended = Collected<Bool>()
        let store = HostedStore(
            { intent, turn in
                if intent == "cancel" { return turn.cancel("a") }
                turn.launch(id: "a", policy: .cancelPrevious) { _ in
                    await gate.waitDespiteCancellation()
                    ended.append(Task.isCancelled)
                }
            }, environment: environment)
        for count in 1...5 {
            #expect(await failure(store, "replace") == nil)
            await gate.waiters(atLeast: count)
        }
        // Four of five are cancelled and run on.
        #expect(await failure(store, "replace") == Self.tooMuch)
        #expect(await failure(store, "cancel") == nil)
        #expect(await failure(store, "replace") == Self.tooMuch)
        gate.open()
        await ended.atLeast(5)
        await executor.idle()
        #expect(await failure(store, "replace") == nil)
        store.dispose()
    }

    @Test("34: too much work asked for by a step is thrown into its work")
    func step() async throws {
        let caught = Collected<String>()
        let store = HostedStore(
            { _, turn in
                turn.launch { work in
                    do {
                        try await work.turn { turn throws in Self.ask("launch,launch,launch,launch", &turn) }
                    } catch { caught.append("\(error)") }
                }
            }, environment: environment)
        let outcome = try await store.send("go")
        await store.settled(outcome.id)
        #expect(caught.all == [Self.tooMuch])
        #expect(store.messages.isEmpty)
        store.dispose()
    }

    @Test("49: turns of failures that cannot be committed are kept up to a bound; what is given up is counted")
    func failures() async {
        let log = AppendLog<Script>([.committed] + Array(repeating: .unavailable, count: 200))
        let script = Script(onExecute: { _, _ in throw Broken() }, onThrow: { _, turn in turn.dispatch("failed") })
        let store = HostedStore(script, environment: environment, log: log)
        store.start()
        for _ in 0..<100 { store.accept("bad") }
        #expect(store.diagnostics.droppedFailures == 36)
        #expect(store.diagnostics.failures == 100)
        await clock.sleepers()
        // All are tried again, and kept as none can be committed.
        await clock.advance(by: .milliseconds(250), running: executor)
        #expect(store.diagnostics.droppedFailures == 36)
        store.dispose()
    }

    @Test("40, 49: whoever waits for work whose failure's turn is given up is told all the same")
    func droppedFailureSettles() async throws {
        let log = AppendLog<Script>([.committed] + Array(repeating: .unavailable, count: 64))
        let script = Script(
            onExecute: { intent, turn in
                if intent == "bad" { throw Broken() }
                turn.launch { _ in throw Broken() }
            }, onThrow: { _, turn in turn.dispatch("failed") })
        let store = HostedStore(script, environment: environment, log: log)
        store.start()
        for _ in 0..<64 { store.accept("bad") }
        log.next(.committed, .unavailable)
        let outcome = try await store.send("launch")
        await executor.idle()
        await store.settled(outcome.id)
        #expect(store.diagnostics.droppedFailures == 1)
        #expect(store.diagnostics.runningWork == 0)
        store.dispose()
    }

    /// Calls when it dies: what an author's closure holds may do anything then, also use the store.
    private final class Mortal: Sendable {
        let died: @Sendable () -> Void
        init(_ died: @escaping @Sendable () -> Void) { self.died = died }
        deinit { died() }
        func touch() {}
    }

    @Test("34: what launched work holds may use the store when it dies, however the work ends")
    func released() async throws {
        let deaths = Collected<String>()
        let holder = Lock<HostedStore<Script>?>(nil)
        let mortal: @Sendable (String) -> Mortal = { name in
            Mortal {
                // Would wait for itself for ever under the store's lock.
                _ = holder.withLock { $0 }?.state
                deaths.append(name)
            }
        }
        let store = HostedStore(
            { intent, turn in
                let mortal = mortal(intent)
                switch intent {
                case "cancel": turn.cancel("a")
                case "watch", "watch again": turn.whileWatched(id: "a") { _ in mortal.touch() }
                case "end": turn.launch { _ in mortal.touch() }
                default:
                    turn.launch(id: "a", policy: .queue) { work in
                        mortal.touch()
                        try await work.sleep(for: .seconds(1))
                    }
                }
            }, environment: environment)
        holder.withLock { $0 = store }
        for intent in ["run", "queue", "watch", "watch again"] { try await store.send(intent) }
        try await store.send("cancel")
        await executor.idle()
        #expect(Set(deaths.all) == ["run", "queue", "watch", "watch again", "cancel"])
        try await store.send("end")
        await executor.idle()
        #expect(deaths.all.last == "end")
        for intent in ["run", "queue", "watch"] { try await store.send(intent) }
        store.dispose()
        await executor.idle()
        #expect(Set(deaths.all.suffix(3)) == ["run", "queue", "watch"])
        holder.withLock { $0 = nil }
    }

    @Test("40: what a wait holds may use the store when the wait is taken back")
    func waitReleased() async throws {
        let gate = Gate()
        let deaths = Collected<Bool>()
        let store = HostedStore({ _, turn in turn.launch { _ in try await gate.wait() } }, environment: environment)
        let outcome = try await store.send("go")
        do {
            let mortal = Mortal { [weak store] in deaths.append(store?.state != nil) }
            let waits = store.whenSettled(outcome.id, id: 1) { mortal.touch() }
            #expect(waits)
        }
        store.stopWaiting(for: outcome.id, id: 1)
        #expect(deaths.all == [true])
        store.dispose()
    }
}
