import MVI
import MVITesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct FailureTests {
    let executor = TestExecutor()
    let reports = Collected<Failure>()

    /// A started store that collects its failures.
    func store(_ script: Script) -> HostedStore<Script> {
        let store = HostedStore(
            script,
            environment: StoreEnvironment(
                executor: executor,
                report: { [reports] in if case .failure(let failure, _) = $0 { reports.append(failure) } }))
        store.start()
        return store
    }

    /// The intents of the failures so far.
    var intents: [String?] { reports.all.map { ($0.intent as? Script.Intent)?.text } }

    @Test("41: a failure of a handler or its actions has the intent as interceptors left it")
    func handlers() async {
        let handed = Collected<String?>()
        let store = store(
            Script(
                own: .intercepting { intent, _ in
                    if intent == "guard" { throw Broken() }
                    return intent + "!"
                },
                onExecute: { intent, turn in
                    if intent == "execute!" { throw Broken() }
                    turn.send(intent)
                }, onPerform: { _, _ in throw Broken() },
                onThrow: { failure, _ in handed.append((failure.intent as? Script.Intent)?.text) }))
        for intent in ["execute", "perform", "guard"] { _ = try? await store.send(intent) }
        #expect(intents == ["execute!", "perform!", "guard"])
        #expect(handed.all == ["execute!", "perform!"])
        store.dispose()
    }

    @Test("41: a failure of launched work has the intent that launched it, over the work's own launches and failures")
    func work() async throws {
        let store = store(
            Script(
                onExecute: { _, turn in
                    turn.launch { work in
                        await work.turn { turn in turn.launch { _ in throw Broken() } }
                        await work.turn { turn in turn.send("action") }
                        throw Broken()
                    }
                }, onPerform: { _, _ in throw Broken() },
                onThrow: { failure, turn in
                    if case .work(nil) = failure.stage { turn.launch(id: "repair") { _ in throw Broken() } }
                }))
        try await store.send("go")
        await executor.idle()
        // Three failures, and three of what `onFailure` launched.
        #expect(intents == Array(repeating: "go", count: 6))
        store.dispose()
    }

    @Test("41: what onFailure launches for a handler's failure has its intent")
    func afterHandler() async {
        let store = store(
            Script(
                onExecute: { _, _ in throw Broken() },
                onThrow: { failure, turn in
                    if failure.stage == .execute { turn.launch { _ in throw Broken() } }
                }))
        _ = try? await store.send("go")
        await executor.idle()
        #expect(reports.all.map(\.stage) == [.execute, .work(nil)])
        #expect(intents == ["go", "go"])
        store.dispose()
    }

    @Test("8, 41: a failure of bootstrap and of its work has no intent")
    func bootstrap() async {
        let store = store(
            Script(onBootstrap: { _, turn in
                turn.launch { work in
                    try await work.turn { turn throws in turn.send("x") }
                    throw Broken()
                }
            }))
        let other = self.store(Script(onBootstrap: { _, _ in throw Broken() }))
        await executor.idle()
        #expect(intents == [nil, nil])
        #expect(Set(reports.all.map(\.intentID)) == [.bootstrap])
        store.dispose()
        other.dispose()
    }

    @Test("41: a failure names the case of its intent, without its values")
    func names() {
        enum Intent: Sendable { case plain, add(amount: Int), pick(String) }
        func name(_ intent: (any Sendable)?) -> String? {
            Failure(stage: .execute, intentID: IntentID("x"), intent: intent, error: Broken()).intentName
        }
        #expect(name(Intent.plain) == "plain")
        #expect(name(Intent.add(amount: 5)) == "add")
        #expect(name(Intent.pick("secret")) == "pick")
        #expect(name("a text") == nil)
        #expect(name(nil) == nil)
    }
}
