import MVI
import MVITesting
import SessionJournal
import Sessions
import Testing

@Suite("88: turns wait for what other stores observe", .timeLimit(.minutes(10)))
struct ObservedTurnTests {
    @Test("88: a turn that reads another store waits for it, and the session's other turns do not")
    func view() async throws {
        let source = Source()
        let fixture = try ObservedFixture(Notice(sources: ["a": source]))
        let copy = fixture.post(#"{"type":"copy"}"#)
        await fixture.settle()
        #expect(copy.value == nil)
        _ = try #require(fixture.post(#"{"type":"note","text":"meanwhile"}"#).value).get()
        source.yield("new")
        await fixture.settle()
        _ = try #require(copy.value).get()
        #expect(try fixture.copies == ["meanwhile", "new"])
    }

    @Test("88: after a second a turn reads what there is")
    func overdueView() async throws {
        let fixture = try ObservedFixture(Notice(sources: ["a": Source()]))
        let copy = fixture.post(#"{"type":"copy"}"#)
        await fixture.settle()
        await fixture.advance(by: .milliseconds(999))
        #expect(copy.value == nil)
        await fixture.advance(by: .milliseconds(1))
        _ = try #require(copy.value).get()
        #expect(try fixture.copies == ["nothing"])
    }

    @Test("88: later numbers of a client wait for a numbered intent that reads")
    func sequence() async throws {
        let source = Source()
        let fixture = try ObservedFixture(Notice(sources: ["a": source]))
        let first = fixture.post(#"{"type":"copy"}"#, name: .sequence(1, epoch: "e"))
        let second = fixture.post(#"{"type":"note","text":"second"}"#, name: .sequence(2, epoch: "e"))
        await fixture.settle()
        #expect(first.value == nil && second.value == nil)
        source.yield("new")
        await fixture.settle()
        _ = try #require(first.value).get()
        _ = try #require(second.value).get()
        #expect(try fixture.copies == ["new", "second"])
    }

    @Test("88: a start that reads another store waits for it")
    func bootstrap() async throws {
        let source = Source()
        let fixture = try ObservedFixture(Notice(sources: ["a": source]), copy: Copy(copiesAtStart: true))
        let read = fixture.read(fixture.copy)
        await fixture.settle()
        #expect(read.value == nil)
        source.yield("new")
        await fixture.settle()
        #expect(try fixture.copies == ["new"])
    }

    @Test("88: launched work that reads another store waits for it")
    func work() async throws {
        let source = Source()
        let fixture = try ObservedFixture(Notice(sources: ["a": source]))
        _ = try await fixture.post(#"{"type":"work"}"#).wait()
        await fixture.settle()
        #expect(try fixture.copies == [])
        source.yield("new")
        await fixture.settle()
        #expect(try fixture.copies == ["new"])
    }

    @Test("88: turns of failures and of observations read at once: others may wait for them")
    func atOnce() async throws {
        let copies = Source(first: "go")
        let fixture = try ObservedFixture(Notice(sources: ["a": Source()]), copy: Copy(source: copies))
        _ = try await fixture.post(#"{"type":"fail"}"#).wait()
        await fixture.settle()
        let read = fixture.read(fixture.copy)
        await fixture.settle()
        #expect(try !fixture.isStale(read))
        #expect(try fixture.copies.sorted() == ["failed nothing", "nothing"])
    }

    @Test("88: an intent that waits ends with its session")
    func viewAtEnd() async throws {
        let fixture = try ObservedFixture(Notice(sources: ["a": Source()]))
        let copy = fixture.post(#"{"type":"copy"}"#)
        await fixture.settle()
        try fixture.table.ended(fixture.session)
        await fixture.settle()
        #expect(try #require(copy.value).code == .gone)
    }
}
