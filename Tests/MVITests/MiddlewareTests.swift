import Locking
import MVI
import MVITesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct MiddlewareTests {
    @Test("44: observers see everything once each, in causal order, with the intent's id and the instance")
    func everything() async throws {
        let seen = Collected<String>()
        let script = Script(
            own: .observing { seen.append($0.text) },
            onExecute: { intent, turn in
                turn.dispatch("m1")
                turn.send("act")
                turn.publish("label")
                turn.launch { work in
                    await work.dispatch("m2")
                    if intent == "b" { throw Broken() }
                }
            }, onThrow: { _, turn in turn.dispatch("m3") })
        let store = HostedStore(script)
        store.start()
        try await store.settled(store.send("a", id: IntentID("1")).id)
        try await store.settled(store.send("b", id: IntentID("2")).id)
        store.dispose()
        await store.observersCaughtUp()
        #expect(
            seen.all == [
                "script ‹bootstrap› started new",
                "script 1 intent a", "script 1 message m1 0→1", "script 1 label label", "script 1 action act",
                "script 1 message act 1→2", "script 1 message m2 2→3",
                "script 2 intent b", "script 2 message m1 3→4", "script 2 label label", "script 2 action act",
                "script 2 message act 4→5", "script 2 message m2 5→6", "script 2 failed work(nil)",
                "script 2 message m3 6→7",
                "script end ended",
            ])
    }

    @Test("41, 44: a throw in execute undoes the turn; observers see the intent and the failure, the next intent runs")
    func executeThrows() async {
        let seen = Collected<String>()
        let reports = Collected<Failure>()
        let script = Script(
            own: .observing { seen.append($0.text) },
            onExecute: { intent, turn in
                turn.dispatch(intent)
                turn.publish(intent)
                turn.launch { work in await work.dispatch("launched") }
                if intent == "bad" { throw Broken() }
            }, onThrow: { failure, turn in turn.dispatch("\(failure.error)") })
        let environment = StoreEnvironment(report: { if case .failure(let failure, _) = $0 { reports.append(failure) } }
        )
        let turns = SeenTurns()
        let store = HostedStore(script, environment: environment, log: turns.log)
        store.start()
        await #expect {
            try await store.send("bad", id: IntentID("1"))
        } throws: { error in
            guard let failure = (error as? StoreError)?.failure else { return false }
            return failure.stage == .execute && failure.error is Broken
        }
        #expect(store.messages == ["Broken()"])
        #expect(reports.all.map(\.intentID.text) == ["1"])
        store.dispose()
        await store.observersCaughtUp()
        #expect(
            seen.all == [
                "script ‹bootstrap› started new", "script 1 intent bad", "script 1 failed execute",
                "script 1 message Broken() 0→1",
                "script end ended",
            ])
        #expect(turns.texts.all == ["Broken()"])
    }

    @Test("41: an action that onFailure sends and that throws is reported, and the store goes on")
    func onFailureThrows() {
        let reports = Collected<Failure>()
        let script = Script(
            onExecute: { intent, turn in
                if intent == "bad" { throw Broken() }
                turn.dispatch(intent)
            }, onPerform: { _, _ in throw Broken() },
            onThrow: { _, turn in
                turn.dispatch("half")
                turn.send("act")
            })
        let environment = StoreEnvironment(report: { if case .failure(let failure, _) = $0 { reports.append(failure) } }
        )
        let store = HostedStore(script, environment: environment)
        store.start()
        store.accept("bad")
        store.accept("good")
        #expect(store.messages == ["good"])
        #expect(reports.all.map(\.stage) == [.execute, .execute])
        #expect(store.diagnostics.failures == 2)
        store.dispose()
    }

    @Test("44: a throwing observer is counted and hurts neither the store nor the other observers")
    func throwing() async throws {
        let seen = Collected<String>()
        let script = Script(
            own: Middleware(observers: [{ _ in throw Broken() }, { seen.append($0.text) }]))
        let store = HostedStore(script)
        store.start()
        try await store.send("a", id: IntentID("1"))
        await store.observersCaughtUp()
        #expect(seen.all == ["script ‹bootstrap› started new", "script 1 intent a", "script 1 message a 0→1"])
        #expect(store.diagnostics.observerFailures == 3)
        store.dispose()
    }

    @Test("44: the store does not wait for a slow observer, who sees all the same")
    func slow() async throws {
        let gate = BlockingGate()
        let seen = Collected<String>()
        let script = Script(
            own: .observing { observation in
                if case .started = observation.event { gate.wait() }
                seen.append(observation.text)
            })
        let store = HostedStore(script, environment: StoreEnvironment(executor: TestExecutor()))
        store.start()
        await gate.isReached()
        for index in 0..<100 { try await store.send("x", id: IntentID("\(index)")) }
        #expect(store.messages.count == 100)
        #expect(seen.all.isEmpty)
        gate.open()
        await store.observersCaughtUp()
        #expect(seen.all.count == 201)
        #expect(seen.all.last == "script 99 message x 99→100")
        store.dispose()
    }

    @Test("44: an observer that lags far behind misses the newest, and the store says how many")
    func lagging() async {
        let gate = BlockingGate()
        let seen = Collected<String>()
        let script = Script(
            own: .observing { observation in
                if case .started = observation.event { gate.wait() }
                seen.append(observation.text)
            }, onExecute: { _, turn in for _ in 0..<100 { turn.publish("x") } })
        let store = HostedStore(script, environment: StoreEnvironment(executor: TestExecutor()))
        store.start()
        await gate.isReached()
        for _ in 0..<150 { store.accept("x") }
        #expect(store.diagnostics.missedObservations == 150 * 101 - 10_000)
        gate.open()
        await store.observersCaughtUp()
        #expect(seen.all.count == 10_001)
        store.dispose()
    }

    @Test("31, 44: the end is what observers see last, also if a commit is in flight")
    func endIsLast() async {
        let seen = Collected<String>()
        let log = AppendLog<Script>.held
        let store = HostedStore(Script(own: .observing { seen.append($0.text) }), log: log)
        store.start()
        log.end()
        store.accept("a", id: IntentID("1"))
        store.dispose()
        log.end()
        await store.observersCaughtUp()
        #expect(
            seen.all == [
                "script ‹bootstrap› started new", "script 1 intent a", "script 1 message a 0→1", "script end ended",
            ])
    }

    @Test("45: interceptors run in order of installation, may rewrite, and see the state on which the intent would run")
    func rewriting() async throws {
        let seen = Collected<String>()
        let script = Script(
            own: Middleware(interceptors: [
                { intent, interception in
                    seen.append("own \(intent) \(interception.state.messages) \(interception.session.id)")
                    return intent + "2"
                }
            ]))
        let store = HostedStore(
            script, environment: StoreEnvironment(session: SessionInfo(id: "session")),
            middleware: [Common(name: "1", seen: seen)])
        store.start()
        try await store.send("a")
        try await store.send("b")
        await store.observersCaughtUp()
        #expect(store.messages == ["a12", "b12"])
        #expect(
            seen.all.filter { !$0.hasPrefix("observed") } == [
                "common a", "own a1 [] session", "common b", "own b1 [\"a12\"] session",
            ])
        store.dispose()
    }

    @Test("45: an interceptor refuses an intent: it is not run, the caller and the observers are told why")
    func refusing() async {
        let seen = Collected<String>()
        let ran = Collected<String>()
        let refusal = Refusal(.tooMany(retryAfter: .seconds(3)), "Slower.")
        let script = Script(
            own: Middleware(
                observers: [{ seen.append($0.text) }],
                interceptors: [
                    { intent, _ in
                        if intent == "no" { throw refusal }
                        return intent
                    },
                    { intent, _ in
                        ran.append(intent.text)
                        return intent
                    },
                ]))
        let store = HostedStore(script)
        store.start()
        await #expect {
            try await store.send("no", id: IntentID("1"))
        } throws: { error in
            guard let error = error as? StoreError else { return false }
            return error.code == .tooMany && error.detail == "Slower." && error.retryAfter == .seconds(3)
        }
        store.accept("yes", id: IntentID("2"))
        await store.observersCaughtUp()
        #expect(ran.all == ["yes"])
        #expect(store.messages == ["yes"])
        #expect(
            seen.all == [
                "script ‹bootstrap› started new", "script 1 refused no", "script 2 intent yes",
                "script 2 message yes 0→1",
            ])
        store.dispose()
    }

    @Test("45: an interceptor that throws something else lets nothing pass, and is reported as the fault it is")
    func faultyInterceptor() async {
        let reports = Collected<Failure>()
        let seen = Collected<String>()
        let script = Script(
            own: Middleware(observers: [{ seen.append($0.text) }], interceptors: [{ _, _ in throw Broken() }]))
        let environment = StoreEnvironment(report: { if case .failure(let failure, _) = $0 { reports.append(failure) } }
        )
        let store = HostedStore(script, environment: environment)
        store.start()
        await #expect {
            try await store.send("a", id: IntentID("1"))
        } throws: { error in
            (error as? StoreError)?.code == .forbidden
        }
        #expect(store.messages.isEmpty)
        #expect(reports.all.count == 1)
        #expect(store.diagnostics.failures == 1)
        await store.observersCaughtUp()
        #expect(seen.all == ["script ‹bootstrap› started new", "script 1 refused a", "script 1 failed execute"])
        store.dispose()
    }

    @Test("44, 45: observers hear of an intent as interceptors left it, also where it throws")
    func rewrittenObserved() async {
        let seen = Collected<String>()
        let script = Script(
            own: Middleware(observers: [{ seen.append($0.text) }], interceptors: [{ intent, _ in intent + "!" }]),
            onExecute: { intent, turn in if intent == "bad!" { throw Broken() } })
        let store = HostedStore(script)
        store.start()
        store.accept("a", id: IntentID("1"))
        store.accept("bad", id: IntentID("2"))
        await store.observersCaughtUp()
        #expect(
            seen.all == [
                "script ‹bootstrap› started new", "script 1 intent a!", "script 2 intent bad!",
                "script 2 failed execute",
            ])
        store.dispose()
    }

    @Test("46: middleware for all and the feature's own are both installed, and composing keeps every hook")
    func composing() async throws {
        let seen = Collected<String>()
        let own = Middleware<Script>.observing { _ in seen.append("observed by own") }
            .combined(with: .observing { _ in seen.append("observed by other") })
            .combined(with: .intercepting { intent, _ in intent + "!" })
        let store = HostedStore(
            Script(own: own), middleware: [Common(name: "1", seen: seen), Common(name: "2", seen: seen)])
        store.start()
        await store.observersCaughtUp()
        #expect(
            seen.all == ["observed by common 1", "observed by common 2", "observed by own", "observed by other"])
        try await store.send("a")
        #expect(store.messages == ["a12!"])
        store.dispose()
    }

    @Test("43: a turn that takes longer than the limit is reported and counted")
    func slowTurn() async throws {
        let reports = Collected<String>()
        let environment = StoreEnvironment(
            slowTurn: .zero, report: { if case .slowTurn(_, let id, _) = $0 { reports.append(id.text) } })
        let store = HostedStore({ intent, turn in turn.dispatch(intent) }, environment: environment)
        try await store.send("a", id: IntentID("1"))
        #expect(reports.all == [IntentID.bootstrap.text, "1"])
        #expect(store.diagnostics.slowTurns == 2)
        store.dispose()
    }

    @Test("43: interceptors and `view` count for how long a turn takes", arguments: [true, false])
    func slowParts(isViewSlow: Bool) {
        let isBusy = Lock(false)
        @Sendable func work() {
            let start = ContinuousClock.now
            while isBusy.withLock({ $0 }), ContinuousClock.now - start < .milliseconds(5) {}
        }
        let slow = Collected<String>()
        let environment = StoreEnvironment(
            slowTurn: .milliseconds(5), report: { if case .slowTurn(_, let id, _) = $0 { slow.append(id.text) } })
        let guarded = Middleware<Viewed>.intercepting { intent, _ in
            if !isViewSlow { work() }
            return intent
        }
        let store = HostedStore(Viewed(own: guarded) { _ in if isViewSlow { work() } }, environment: environment)
        store.start()
        isBusy.withLock { $0 = true }
        store.accept(.up, id: IntentID("1"))
        #expect(slow.all.last == "1")
        store.dispose()
    }
}

/// Middleware for every feature: appends its name to intents that are texts.
private struct Common: CommonMiddleware {
    let name: String
    let seen: Collected<String>

    func middleware<F: Feature>(for feature: F.Type) -> Middleware<F> {
        Middleware(
            observers: [{ _ in seen.append("observed by common \(name)") }],
            interceptors: [
                { intent, _ in
                    if name == "1" { seen.append("common \(intent)") }
                    return (Script.Intent("\(intent)\(name)") as? F.Intent) ?? intent
                }
            ])
    }
}

extension StoreObservation where F == Script {
    /// Instance, intent and event in one line.
    var text: String {
        let event =
            switch event {
            case .started(let life): "started \(life)"
            case .intent(let intent): "intent \(intent)"
            case .refused(let intent, _): "refused \(intent)"
            case .action(let action): "action \(action)"
            case .message(let message, let before, let after):
                "message \(message) \(before.messages.count)→\(after.messages.count)"
            case .label(let label): "label \(label)"
            case .failed(let failure): "failed \(failure.stage)"
            case .ended: "ended"
            }
        return "\(instance) \(intentID) \(event)"
    }
}
