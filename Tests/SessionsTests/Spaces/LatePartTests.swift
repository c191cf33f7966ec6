import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("92: parts of a stream that are late", .timeLimit(.minutes(5)))
struct LatePartTests {
    /// Lists whose lookup a test ends.
    private final class Lookups: Sendable {
        private typealias Lookup = (
            open: StreamBundle.Attempt, refuse: @Sendable (StoreError) -> Void, space: Session, list: String
        )
        private let waiting = Lock<[Lookup]>([])

        func named(_ list: String, _ client: SpaceClient) throws -> StreamBundle.Named {
            let space = try client.fixture.space(list)
            return StreamBundle.Named(try #require(space.space), [try #require(FeatureID("chores:\(list)"))]) {
                [waiting] open, refuse in waiting.withLock { $0.append((open, refuse, space, list)) }
            }
        }

        var count: Int { waiting.withLock { $0.count } }

        func end(_ error: StoreError? = nil) {
            for lookup in waiting.withLock({ waiting in
                defer { waiting = [] }
                return waiting
            }) {
                guard let error else { lookup.open(lookup.space) { _ in }; continue }
                lookup.refuse(error)
            }
        }
    }

    private func call(_ text: String) -> String { #"{"type":"call","text":"\#(text)"}"# }

    /// Opens a stream of `party` and, late, of `picnic`.
    private func open(
        _ client: SpaceClient, _ lookups: Lookups, from start: StreamStart = .unspecified
    ) async throws -> BundleReader {
        let clock = try #require(client.fixture.table.environment.clock as? ManualClock)
        let opened = Box<Result<StreamBundle, StoreError>>()
        StreamBundle.open(
            client.session, [], [try client.named("party"), try lookups.named("picnic", client)], from: start,
            for: client.own
        ) { opened.set($0) }
        await clock.sleepers()
        clock.advance(by: .milliseconds(999))
        #expect(opened.value == nil)
        clock.advance(by: .milliseconds(1))
        while opened.value == nil { await Task.yield() }
        return BundleReader(try #require(opened.value).get())
    }

    private func names(_ events: [String]) -> [String] {
        events.map { $0.prefix { $0 != " " } + ($0.contains("chores:picnic") ? " picnic" : "") }
    }

    @Test("a late part holds up no other, each id repeats what the client had of it, and it joins at its cursor")
    func resumes() async throws {
        let fixture = try SpaceFixture()
        let ann = try fixture.guest()
        let first = try ann.stream("party", "picnic")
        _ = try first.events()
        let before = first.lastID.split(separator: "~")
        first.stream.closed()
        for list in ["party", "picnic"] { _ = try ann.send(call("missed"), to: list).get() }
        let lookups = Lookups()
        let stream = try await open(ann, lookups, from: .cursor(first.lastID))
        let began = try stream.events()
        #expect(began[0].contains(#""resumed":true"#) && began[0].contains("chores:picnic"))
        #expect(names(began).dropFirst() == ["state", "label"])
        #expect(stream.lastID.hasSuffix("~" + before[2]) && !stream.lastID.contains("~" + before[1] + "~"))
        _ = try ann.send(call("meanwhile"), to: "picnic").get()
        _ = try ann.send(call("on"), to: "party").get()
        #expect(try names(stream.events()) == ["label"])
        #expect(stream.lastID.hasSuffix("~" + before[2]))
        lookups.end()
        let joined = try stream.events()
        #expect(names(joined) == ["state picnic", "label picnic", "label picnic"])
        #expect(joined[1].contains("missed") && joined[2].contains("meanwhile"))
        #expect(!stream.lastID.contains(before[2]) && stream.lastID.split(separator: "~").count == 3)
        _ = try ann.send(call("later"), to: "picnic").get()
        #expect(try names(stream.events()) == ["label picnic"])
    }

    @Test("83: a late part that the client did not have joins as a new one, and is in no id before")
    func joins() async throws {
        let fixture = try SpaceFixture()
        let ann = try fixture.guest()
        _ = try ann.send(call("before"), to: "picnic").get()
        let lookups = Lookups()
        let stream = try await open(ann, lookups)
        #expect(try names(stream.events()) == ["hello picnic", "state"])
        #expect(stream.lastID.split(separator: "~").count == 2)
        lookups.end()
        #expect(try names(stream.events()) == ["state picnic"])
        // The id of its first state promises the labels from then on.
        #expect(stream.lastID.split(separator: "~").count == 3)
        let id = stream.lastID
        _ = try ann.send(call("after"), to: "picnic").get()
        let again = try ann.stream("party", "picnic", from: .cursor(id)).events()
        #expect(names(again).contains("label picnic") && again.contains { $0.contains("after") })
    }

    @Test("82: a late part of another log keeps its place in each id until its reset")
    func resets() async throws {
        let fixture = try SpaceFixture()
        let ann = try fixture.guest()
        let first = try ann.stream("party", "picnic")
        _ = try first.events()
        var parts = first.lastID.split(separator: "~").map(String.init)
        parts[2] = parts[2].prefix(6) + "aaaaaa.7"
        let lookups = Lookups()
        let stream = try await open(ann, lookups, from: .cursor(parts.joined(separator: "~")))
        _ = try stream.events()
        #expect(stream.lastID.hasSuffix("~" + parts[2]))
        lookups.end()
        #expect(try names(stream.events()) == ["reset picnic", "state picnic"])
        #expect(stream.lastID == first.lastID)
    }

    @Test("a late part that the client may not read is denied, and no id has it")
    func denied() async throws {
        let fixture = try SpaceFixture(rule: { _, _, access in access != .dispose })
        let ann = try fixture.guest()
        let first = try ann.stream("party", "picnic")
        _ = try first.events()
        let lookups = Lookups()
        let stream = try await open(ann, lookups, from: .cursor(first.lastID))
        _ = try stream.events()
        lookups.end(.noAccess(isAnonymous: true))
        #expect(try stream.events() == [#"denied {"feature":"chores:picnic"}"#])
        _ = try ann.send(call("on")).get()
        #expect(try names(stream.events()) == ["label"])
        #expect(!stream.isOver && stream.lastID.split(separator: "~").count == 2)
    }

    @Test("a late part that fails is tried again with growing pauses, or ends the stream if that is in vain")
    func fails() async throws {
        let fixture = try SpaceFixture()
        let clock = try #require(fixture.table.environment.clock as? ManualClock)
        let ann = try fixture.guest()
        let lookups = Lookups()
        let stream = try await open(ann, lookups)
        _ = try stream.events()
        for pause in 1...3 {
            #expect(lookups.count == 1)
            lookups.end(StoreError(.unavailable, "The owner does not answer."))
            await clock.sleepers()
            clock.advance(by: .seconds(pause) - .milliseconds(1))
            #expect(lookups.count == 0)
            clock.advance(by: .milliseconds(1))
            while lookups.count == 0 { await Task.yield() }
        }
        #expect(try stream.events().isEmpty)
        lookups.end(.featureNotFound)
        let events = try stream.events()
        #expect(stream.isOver && names(events) == ["goaway"] && events[0].contains(#""reason":"busy""#))
    }

    @Test("a part that opens when its stream is closed is closed, and is not tried again")
    func closed() async throws {
        let fixture = try SpaceFixture()
        let ann = try fixture.guest()
        let lookups = Lookups()
        let stream = try await open(ann, lookups)
        stream.stream.closed()
        lookups.end()
        #expect(try fixture.space("picnic").core.withLock { $0.streams.isEmpty })
        #expect(ann.session.core.withLock { $0.streams.isEmpty })
    }

    @Test("a part that fails in time is the failure of the stream, and a late one is not waited for")
    func failsInTime() async throws {
        let fixture = try SpaceFixture()
        let clock = try #require(fixture.table.environment.clock as? ManualClock)
        let ann = try fixture.guest()
        let (lookups, failing) = (Lookups(), Lookups())
        let opened = Box<Result<StreamBundle, StoreError>>()
        StreamBundle.open(
            ann.session, [], [try failing.named("party", ann), try lookups.named("picnic", ann)], from: .unspecified,
            for: ann.own
        ) { opened.set($0) }
        failing.end(.featureNotFound)
        await clock.sleepers()
        clock.advance(by: .seconds(1))
        while opened.value == nil { await Task.yield() }
        guard case .failure(let error)? = opened.value else { return #expect(Bool(false), "the stream opened") }
        #expect(error.code == .featureNotFound)
        lookups.end()
        #expect(try fixture.space("picnic").core.withLock { $0.streams.isEmpty })
        #expect(ann.session.core.withLock { $0.streams.isEmpty })
    }
}
