import MVI
import MVITesting
import SessionJournal
import Sessions
import Testing

@Suite("88: what `observe` shows is awaited", .timeLimit(.minutes(10)))
struct ObservedTests {
    struct Broken: Error {}

    // MARK: Streams

    @Test("88: a stream's first state waits for the first result")
    func stream() async throws {
        let source = Source()
        let fixture = try ObservedFixture(Notice(sources: ["a": source]))
        let stream = try fixture.stream()
        await fixture.settle()
        #expect(try stream.shown() == [])
        let wakes = stream.wakeCount
        source.yield("new")
        await fixture.settle()
        #expect(stream.wakeCount > wakes)
        #expect(try stream.shown() == ["new", "[new]"])
        source.yield("newer")
        await fixture.settle()
        #expect(try stream.shown() == ["newer", "[newer]"])
    }

    @Test("88: after a second a stream shows a stale state, and shows it again when the result has come")
    func overdueStream() async throws {
        let source = Source()
        let fixture = try ObservedFixture(Notice(sources: ["a": source]))
        let stream = try fixture.stream()
        await fixture.settle()
        await fixture.advance(by: .milliseconds(999))
        #expect(try stream.shown() == [])
        await fixture.advance(by: .milliseconds(1))
        #expect(try stream.shown() == ["nothing!"])
        // The observation has had its time.
        let second = try fixture.stream()
        #expect(try second.shown() == ["nothing!"])
        source.yield("new")
        await fixture.settle()
        #expect(try stream.shown().last == "[new]")
        #expect(try second.shown().contains("new"))
        #expect(try fixture.stream().shown().first == "new")
    }

    @Test(
        "88: a stale state whose result changes nothing is shown again without the mark",
        arguments: [nil, DeltaForm.jsonPatch])
    func unchanged(_ delta: DeltaForm?) async throws {
        let source = Source()
        let journal = MemoryJournal()
        let first = try ObservedFixture(Notice(sources: ["a": Source(first: "old")]), journal: journal)
        _ = try first.stream()
        await first.settle()
        let fixture = try ObservedFixture(Notice(sources: ["a": source]), journal: journal, token: first.token)
        let stream = try fixture.stream(delta: delta)
        await fixture.settle()
        await fixture.advance(by: .seconds(1))
        #expect(try stream.shown().contains("old!"))
        source.yield("old")
        await fixture.settle()
        #expect(try stream.shown() == ["old"])
        source.yield("new")
        await fixture.settle()
        #expect(try stream.shown().first == "new")
    }

    @Test("88: a state that changes while it is stale is marked, also as a patch")
    func stalePatch() async throws {
        let fixture = try ObservedFixture(Notice(sources: ["a": Source()]))
        let stream = try fixture.stream(delta: .mergePatch)
        await fixture.settle()
        await fixture.advance(by: .seconds(1))
        #expect(try stream.shown() == ["nothing!"])
        _ = try await fixture.post(#"{"type":"count"}"#, to: fixture.notice).wait()
        await fixture.settle()
        #expect(try stream.shown().allSatisfy { $0.hasSuffix("!") })
    }

    @Test("88: the other stores of a stream do not wait, and labels wait with their state")
    func others() async throws {
        let source = Source()
        let fixture = try ObservedFixture(Notice(sources: ["a": source]))
        _ = try await fixture.post(#"{"type":"note","text":"x"}"#).wait()
        let stream = try fixture.stream(.features([fixture.notice, fixture.copy]))
        await fixture.settle()
        let features = try stream.read().named("state").map { try $0.json.feature }
        #expect(features == ["copy"])
        source.yield("new")
        await fixture.settle()
        #expect(try stream.shown() == ["new", "[new]"])
    }

    @Test("88: a store that is made while a stream shows all is shown with its first result")
    func madeLater() async throws {
        let source = Source()
        let fixture = try ObservedFixture(Notice(sources: ["a": source]))
        let stream = try fixture.stream(.all)
        _ = try stream.read()
        _ = try await fixture.post(#"{"type":"count"}"#, to: fixture.notice).wait()
        await fixture.settle()
        #expect(try stream.shown() == [])
        source.yield("new")
        await fixture.settle()
        #expect(try stream.shown() == ["new", "[new]"])
    }

    @Test("88: a store that is loaded while a stream shows all is shown with its first result")
    func loadedLater() async throws {
        let journal = MemoryJournal()
        let first = try ObservedFixture(Notice(sources: ["a": Source()]), journal: journal)
        _ = try await first.post(#"{"type":"note","text":"x"}"#).wait()
        _ = try await first.post(#"{"type":"count"}"#, to: first.notice).wait()
        let source = Source()
        let fixture = try ObservedFixture(Notice(sources: ["a": source]), journal: journal, token: first.token) {
            $0.loadedStores = 1
        }
        // A store of another session has shown that the feature observes.
        let other = try fixture.table.made(.bearer).session
        other.state(of: fixture.notice) { _ in }
        await fixture.settle()
        let stream = try fixture.stream(.all)
        #expect(try stream.read().named("state").map { try $0.json.feature } == ["copy"])
        let count = fixture.post(#"{"type":"count"}"#, to: fixture.notice)
        await fixture.settle()
        _ = try #require(count.value).get()
        #expect(try stream.shown() == [])
        source.yield("new")
        await fixture.settle()
        #expect(try stream.shown() == ["new", "[new]"])
    }

    @Test("88: a store that ends while its state is held back is shown as ended")
    func endedStore() async throws {
        let fixture = try ObservedFixture(Notice(sources: ["a": Source()]))
        let stream = try fixture.stream()
        await fixture.settle()
        _ = try stream.read()
        #expect(try fixture.session.removed(fixture.notice))
        #expect(try stream.read().names == ["end"])
    }

    // MARK: Reads

    @Test("88: a read waits, and observes for it what nobody watches")
    func read() async throws {
        let source = Source()
        let fixture = try ObservedFixture(Notice(sources: ["a": source]))
        let read = fixture.read()
        await fixture.settle()
        #expect(read.value == nil)
        source.yield("new")
        await fixture.settle()
        #expect(try fixture.text(read) == "new")
        #expect(try !fixture.isStale(read))
        // Within the grace period it is observed on.
        source.yield("newer")
        await fixture.settle()
        #expect(try fixture.text(fixture.read()) == "newer")
        #expect(source.made.all.count == 1)
        await fixture.advance(by: .seconds(5))
        #expect(source.ended.all.count == 1)
        let late = fixture.read()
        await fixture.settle()
        #expect(late.value == nil)
        source.yield("latest")
        await fixture.settle()
        #expect(try fixture.text(late) == "latest")
    }

    @Test("88: after a second a read gets the state as stale, and the next does not wait")
    func overdue() async throws {
        let source = Source()
        let fixture = try ObservedFixture(Notice(sources: ["a": source], lifetime: .store))
        let read = fixture.read()
        await fixture.settle()
        await fixture.advance(by: .milliseconds(999))
        #expect(read.value == nil)
        await fixture.advance(by: .milliseconds(1))
        #expect(try fixture.isStale(read))
        #expect(try fixture.isStale(fixture.read()))
        source.yield("new")
        await fixture.settle()
        let next = fixture.read()
        #expect(try fixture.text(next) == "new")
        #expect(try !fixture.isStale(next))
    }

    @Test("88: all observations of a store are awaited")
    func several() async throws {
        let (first, second) = (Source(), Source())
        let fixture = try ObservedFixture(Notice(sources: ["a": first, "b": second]))
        let read = fixture.read()
        await fixture.settle()
        first.yield("1")
        await fixture.settle()
        #expect(read.value == nil)
        second.yield("2")
        await fixture.settle()
        #expect(try fixture.text(read, "b") == "2")
        #expect(try !fixture.isStale(read))
    }

    @Test("88: an observation that ends without a value is not awaited; one that fails leaves the state stale")
    func endings() async throws {
        for error in [nil, Broken()] {
            let source = Source()
            let fixture = try ObservedFixture(Notice(sources: ["a": source]))
            let read = fixture.read()
            await fixture.settle()
            source.finish(throwing: error)
            await fixture.settle()
            #expect(try fixture.isStale(read) == (error != nil))
            #expect(try fixture.isStale(fixture.read()) == (error != nil))
            // It begins again for the next reader after the grace period.
            await fixture.advance(by: .seconds(5))
            let next = fixture.read()
            await fixture.settle()
            source.yield("new")
            await fixture.settle()
            #expect(try fixture.text(next) == "new")
            #expect(try !fixture.isStale(next))
        }
    }

    @Test("88: a store that comes back from the journal observes anew before it is read")
    func restored() async throws {
        let journal = MemoryJournal()
        let first = try ObservedFixture(Notice(sources: ["a": Source(first: "old")]), journal: journal)
        let before = first.read()
        await first.settle()
        #expect(try first.text(before) == "old")
        let source = Source()
        let fixture = try ObservedFixture(Notice(sources: ["a": source]), journal: journal, token: first.token)
        let read = fixture.read()
        await fixture.settle()
        #expect(read.value == nil)
        source.yield("new")
        await fixture.settle()
        #expect(try fixture.text(read) == "new")
    }

    @Test("88: an observation that an intent begins is awaited by the next read, and the intent is answered at once")
    func begunLater() async throws {
        let later = Source()
        let fixture = try ObservedFixture(Notice(sources: ["later": later]))
        #expect(try fixture.text(fixture.read(), "later") == nil)
        _ = try #require(fixture.post(#"{"type":"observe"}"#, to: fixture.notice).value).get()
        let read = fixture.read()
        await fixture.settle()
        #expect(read.value == nil)
        later.yield("new")
        await fixture.settle()
        #expect(try fixture.text(read, "later") == "new")
    }

    @Test("88: the state in an intent's answer does not wait, and says that it may be stale")
    func answer() async throws {
        let source = Source()
        let fixture = try ObservedFixture(Notice(sources: ["a": source]))
        let answer = Answer()
        func post() {
            fixture.session.send(
                IntentRequest(body: Array(#"{"type":"count"}"#.utf8), wantsState: true), to: fixture.notice
            ) { answer.set($0) }
        }
        post()
        #expect(try await answer.wait().get().state?.isStale == true)
        _ = try fixture.stream()
        await fixture.settle()
        source.yield("new")
        await fixture.settle()
        post()
        #expect(try await answer.wait().get().state?.isStale == false)
    }

    @Test("88: a request that waits for the next state observes meanwhile")
    func longPoll() async throws {
        let source = Source()
        let fixture = try ObservedFixture(Notice(sources: ["a": source]))
        let box = Box<Result<StateSnapshot, StoreError>>()
        fixture.session.state(of: fixture.notice, wait: .seconds(10), until: { $0.version > 2 }) { box.set($0) }
        await fixture.settle()
        source.yield("1")
        await fixture.settle()
        await fixture.advance(by: .seconds(8))
        #expect(box.value == nil)
        source.yield("2")
        await fixture.settle()
        #expect(try fixture.text(box) == "2")
    }

    @Test("88: a read that waits ends with its session, and keeps it in memory")
    func sessionEnd() async throws {
        let fixture = try ObservedFixture(Notice(sources: ["a": Source()]))
        let read = fixture.read()
        await fixture.settle()
        for _ in 0..<12 { fixture.table.sweep() }
        #expect(read.value == nil)
        try fixture.table.ended(fixture.session)
        await fixture.settle()
        #expect(throws: StoreError.self) { try #require(read.value).get() }
    }

    @Test("88: a store that is disposed of while it is read is made anew")
    func disposed() async throws {
        let source = Source()
        let fixture = try ObservedFixture(Notice(sources: ["a": source]))
        let read = fixture.read()
        await fixture.settle()
        #expect(try fixture.session.removed(fixture.notice))
        await fixture.settle()
        #expect(source.made.all.count == 2)
        #expect(read.value == nil)
        source.yield("new")
        await fixture.settle()
        #expect(try fixture.text(read) == "new")
    }
}
