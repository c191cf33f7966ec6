import MVI
import MVITesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ObserveTests {
    let clock = ManualClock()
    let executor = TestExecutor()

    /// Streams that a test feeds, one for each time that a sequence is made.
    final class Feed: Sendable {
        let made = Collected<AsyncThrowingStream<String, any Error>.Continuation>()

        func make() -> AsyncThrowingStream<String, any Error> {
            AsyncThrowingStream { made.append($0) }
        }
    }

    func store(
        _ feed: Feed, _ lifetime: WorkLifetime, onThrow: @escaping @Sendable (Failure) -> String = { _ in "failed" }
    ) -> HostedStore<Script> {
        let script = Script(
            onExecute: { intent, turn in
                if intent == "stop" { return turn.cancel("feed") }
                turn.observe(id: "feed", lifetime) {
                    feed.make()
                } onElement: { element, work in
                    await work.dispatch("\(intent) \(element)")
                    if element == "bad" { throw Broken() }
                }
            }, onThrow: { failure, turn in turn.dispatch(onThrow(failure)) })
        let store = HostedStore(script, environment: StoreEnvironment(clock: clock, executor: executor))
        store.start()
        return store
    }

    @Test("38: a sequence is observed for the store's life, element after element, and nobody waits for it")
    func forLife() async throws {
        let feed = Feed()
        let store = store(feed, .store)
        #expect(try await store.send("a").isSettled)
        await executor.idle()
        for element in ["1", "2"] { feed.made.all[0].yield(element) }
        await executor.idle()
        #expect(store.messages == ["a 1", "a 2"])
        #expect(store.diagnostics.runningWork == 1)
        feed.made.all[0].finish()
        await executor.idle()
        #expect(store.diagnostics.runningWork == 0)
        #expect(store.diagnostics.failures == 0)
        store.dispose()
    }

    @Test("38: observing again under the same id takes the place of what runs, with a sequence of its own")
    func again() async throws {
        let feed = Feed()
        let store = store(feed, .store)
        try await store.send("a")
        await executor.idle()
        try await store.send("b")
        await executor.idle()
        try #require(feed.made.all.count == 2)
        feed.made.all[0].yield("1")
        feed.made.all[1].yield("2")
        await executor.idle()
        #expect(store.messages == ["b 2"])
        try await store.send("stop")
        await executor.idle()
        #expect(store.diagnostics.runningWork == 0)
        store.dispose()
    }

    @Test("39: a sequence that is observed while watched is made anew for each first watcher")
    func whileWatched() async throws {
        let feed = Feed()
        let store = store(feed, .whileWatched(grace: .seconds(2)))
        #expect(try await store.send("a").isSettled)
        await executor.idle()
        #expect(feed.made.all.isEmpty)
        store.beginWatching()
        await executor.idle()
        feed.made.all[0].yield("1")
        await executor.idle()
        store.endWatching()
        await clock.advance(by: .seconds(2), running: executor)
        #expect(store.diagnostics.runningWork == 0)
        store.beginWatching()
        await executor.idle()
        try #require(feed.made.all.count == 2)
        feed.made.all[1].yield("2")
        await executor.idle()
        #expect(store.messages == ["a 1", "a 2"])
        store.dispose()
    }

    @Test("41: what a sequence or its handler throws ends the work and is a failure")
    func throwing() async throws {
        for isHandler in [false, true] {
            let feed = Feed()
            let store = store(feed, .store, onThrow: { "failed \($0.stage)" })
            try await store.send("a")
            await executor.idle()
            if isHandler { feed.made.all[0].yield("bad") } else { feed.made.all[0].finish(throwing: Broken()) }
            await executor.idle()
            #expect(store.messages == (isHandler ? ["a bad"] : []) + ["failed work(Optional(feed))"])
            #expect(store.diagnostics.runningWork == 0)
            store.dispose()
        }
    }
}
