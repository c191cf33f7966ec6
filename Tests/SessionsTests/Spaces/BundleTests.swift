import EventStream
import Locking
import MVI
import SessionJournal
import Testing

@testable import Sessions

@Suite("Streams of several logs")
struct BundleTests {
    private let milk = #"{"type":"add","text":"milk"}"#

    private func call(_ text: String) -> String { #"{"type":"call","text":"\#(text)"}"# }

    @Test("79, 83: each stream shows a shared store's states and labels in order, a newcomer none from before")
    func shows() throws {
        let fixture = try SpaceFixture()
        let (ann, bob) = (try fixture.guest(), try fixture.guest())
        _ = try ann.send(call("before")).get()
        let streams = [try ann.stream("party"), try bob.stream("party", own: ["tally"])]
        #expect(try streams[0].events().map(\.kind) == ["hello", "state chores:party"])
        #expect(try streams[1].events().map(\.kind) == ["hello", "state tally", "state chores:party"])
        _ = try ann.send(milk).get()
        _ = try bob.send(call("tea")).get()
        for stream in streams {
            let events = try stream.events()
            #expect(events.map(\.kind) == ["state chores:party", "label chores:party"])
            #expect(
                events.last?.contains(#""text":"tea""#) == true && events.last?.contains(#""replay":false"#) == true)
        }
    }

    @Test("hello names the caller's session and what is shared, and its cursor covers all logs")
    func hello() throws {
        let fixture = try SpaceFixture()
        let ann = try fixture.guest()
        let stream = try ann.stream("party", "picnic", own: ["tally"])
        let hello = try stream.events()[0]
        #expect(hello.contains(#""session":"\#(ann.session.id)","epoch":"\#(ann.session.epoch)""#))
        #expect(
            hello.contains(
                #""features":["tally","chores:party","chores:picnic"],"shared":["chores:party","chores:picnic"]"#))
        #expect(stream.lastID.hasPrefix("\(ann.session.epoch).1~"))
        #expect(stream.lastID.split(separator: "~").count == 3)
    }

    @Test("82, 83: a resumed stream gets each label after its cursor, of each log")
    func resumes() throws {
        let fixture = try SpaceFixture()
        let ann = try fixture.guest()
        let first = try ann.stream("party", "picnic", own: ["tally"])
        _ = try first.events()
        _ = try ann.send(call("one")).get()
        _ = try first.events()
        let id = first.lastID
        first.stream.closed()
        _ = try ann.send(call("two")).get()
        _ = try ann.send(call("three"), to: "picnic").get()
        let events = try ann.stream("party", "picnic", own: ["tally"], from: .cursor(id)).events()
        #expect(events[0].contains(#""resumed":true"#))
        let labels = events.filter { $0.hasPrefix("label") }
        #expect(labels.count == 2 && labels[0].contains("two") && labels[1].contains("three"))
        #expect(labels.allSatisfy { $0.contains(#""replay":true"#) })
        #expect(!events.contains { $0.hasPrefix("reset") })
    }

    @Test("82: an id promises what each part has written: a part that has not moved keeps its number")
    func ids() throws {
        let fixture = try SpaceFixture()
        let ann = try fixture.guest()
        let stream = try ann.stream("party", "picnic")
        _ = try stream.events()
        let before = stream.lastID.split(separator: "~")
        _ = try ann.send(call("one"), to: "picnic").get()
        _ = try stream.events()
        let after = stream.lastID.split(separator: "~")
        #expect(before[0] == after[0] && before.count == 3 && after.count == 3)
        #expect(zip(before, after).count { $0 != $1 } == 1)
        // The id stands in the block of the last event, after its data.
        let text = String(decoding: stream.bytes, as: UTF8.self)
        #expect(text.hasSuffix("}\nid: \(stream.lastID)\n\n"))
    }

    @Test("a stream of the session alone takes its own part of a cursor, and a cursor of it alone starts spaces now")
    func otherStreams() throws {
        let fixture = try SpaceFixture()
        let ann = try fixture.guest()
        let bundle = try ann.stream("party", own: ["tally"])
        _ = try bundle.events()
        let plain = try ann.session.opened(.all, from: .cursor(bundle.lastID))
        let events = try plain.read()
        #expect(!events.contains { $0.name == "reset" } && events[0].text.contains(#""resumed":true"#))
        _ = try ann.send(call("missed")).get()
        let joined = try ann.stream("party", own: ["tally"], from: .cursor(events[0].id ?? "")).events()
        #expect(!joined.contains { $0.hasPrefix("label") || $0.hasPrefix("reset") })
    }

    @Test("82: a part of another log resets its own features only", arguments: [true, false])
    func resets(isStrange: Bool) throws {
        let fixture = try SpaceFixture()
        let ann = try fixture.guest()
        let stream = try ann.stream("party", own: ["tally"])
        _ = try stream.events()
        var parts = stream.lastID.split(separator: "~").map(String.init)
        // Another check, or a number that the log never had.
        let name = parts[1].prefix(6)
        parts[1] = isStrange ? "\(name)aaaaaa.1" : parts[1].prefix(12) + ".99"
        let resumed = try ann.stream("party", own: ["tally"], from: .cursor(parts.joined(separator: "~")))
        let events = try resumed.parsed()
        let resets = events.indices.filter { events[$0].name == "reset" }
        #expect(resets.count == 1 && events[resets[0]].text.contains(#""features":["chores:party"]"#))
        // A client that lost the connection before the reset is told of the loss at its next try.
        let before = events[..<resets[0]].compactMap(\.id)
        #expect(!before.isEmpty && before.allSatisfy { $0.hasSuffix("~" + parts[1]) })
        #expect(!resumed.lastID.hasSuffix(parts[1]))
    }

    @Test("82: an id repeats nothing that no server can have written, such as the end of a line")
    func foreignBytes() throws {
        let fixture = try SpaceFixture()
        let ann = try fixture.guest()
        let first = try ann.stream("party")
        _ = try first.events()
        let parts = first.lastID.split(separator: "~")
        for check in ["\ndata\n", "\0aaaaa", "\r\naaaa", "aaaa\u{e9}", "aa:aaa", "data\n\n"] {
            let stream = try ann.stream("party", from: .cursor("\(parts[0])~\(parts[1].prefix(6))\(check).99"))
            #expect(try stream.events().map(\.kind) == ["hello", "state chores:party"], "\(check.debugDescription)")
            #expect(stream.lastID == first.lastID)
        }
    }

    @Test("under a rule a part resumes only for the identity that read it")
    func identity() async throws {
        let fixture = try SpaceFixture(rule: { who, _, _ in who != nil })
        let ann = try await fixture.user("ann")
        let stream = try ann.stream("party")
        _ = try stream.events()
        let id = stream.lastID
        _ = try ann.send(call("one")).get()
        let same = try ann.stream("party", from: .cursor(id)).events()
        #expect(same.contains { $0.hasPrefix("label") })
        // The own part's log is another one for another session, so only the space's part is compared.
        let bob = try await fixture.user("bob")
        let part = id.split(separator: "~")[1]
        let other = try bob.stream("party", from: .cursor("\(bob.session.epoch).0~\(part)")).events()
        #expect(other.contains { $0.hasPrefix("reset") } && !other.contains { $0.hasPrefix("label") })
    }

    @Test("81: a caller's end ends its streams at once, without what came after")
    func cut() throws {
        let fixture = try SpaceFixture()
        let (ann, bob) = (try fixture.guest(), try fixture.guest())
        let stream = try ann.stream("party")
        _ = try stream.events()
        ann.session.end(.ended)
        _ = try bob.send(call("secret")).get()
        let events = try stream.events()
        #expect(stream.isOver && events.map(\.kind) == ["goaway"])
    }

    @Test("a space that ends gives an end for each feature and no goaway, and the stream goes on")
    func spaceEnds() throws {
        let fixture = try SpaceFixture()
        let ann = try fixture.guest()
        let stream = try ann.stream("party", own: ["tally"])
        _ = try stream.events()
        try fixture.table.ended(try fixture.space("party"))
        #expect(try stream.events() == [#"end {"feature":"chores:party"}"#])
        #expect(!stream.isOver && !stream.lastID.contains("~"))
    }

    @Test("a feature that the caller may not read is denied, and the others are shown")
    func denied() throws {
        let fixture = try SpaceFixture(rule: { _, key, _ in key != "closed" })
        let ann = try fixture.guest()
        let events = try ann.stream("party", "closed").events()
        #expect(events.map(\.kind) == ["hello", "denied chores:closed", "state chores:party"])
        #expect(throws: StoreError.self) { try ann.stream("closed") }
    }

    @Test("70: a stream shows no label of a feature that its client may not read meanwhile")
    func deniedLabels() async throws {
        let isOpen = Lock(true)
        let fixture = try SpaceFixture(rule: { who, _, _ in who != nil || isOpen.withLock { $0 } })
        let (ann, bob) = (try fixture.guest(), try await fixture.user("bob"))
        let streams = [try bob.stream("party"), try ann.stream("party")]
        for stream in streams { _ = try stream.events() }
        isOpen.withLock { $0 = false }
        _ = try bob.send(call("secret")).get()
        #expect(try streams[0].events().map(\.kind) == ["label chores:party"])
        #expect(try streams[1].events().map(\.kind) == ["denied chores:party"])
        isOpen.withLock { $0 = true }
        _ = try bob.send(call("tea")).get()
        let events = try streams[1].events()
        #expect(events.map(\.kind) == ["state chores:party", "label chores:party"])
        #expect(events.last?.contains("tea") == true)
    }

    @Test("83: under a rule no stream begins before it joined, since a space does not know what was denied")
    func earliest() async throws {
        let users: AccessRule = { who, _, _ in who != nil }
        for (rule, count) in [(nil, 1), (users, 0)] {
            let fixture = try SpaceFixture(rule: rule)
            let (ann, bob) = (try await fixture.user("ann"), try await fixture.user("bob"))
            _ = try bob.send(call("before")).get()
            let events = try ann.stream("party", from: StreamStart.earliest).events()
            #expect(events.count { $0.hasPrefix("label") } == count)
        }
    }

    @Test("a stream goes on without the features of its session that are denied, and shows them with new access")
    func deniedOwn() async throws {
        let isOpen = Lock(true)
        let fixture = try SpaceFixture(ownRule: { _, _, _ in isOpen.withLock { $0 } })
        let ann = try await fixture.user("ann")
        #expect(try ann.stream("party", own: ["tally"]).events().contains { $0.hasPrefix("state") })
        isOpen.withLock { $0 = false }
        let stream = try ann.stream("party", own: ["tally"])
        #expect(try stream.events().map(\.kind) == ["hello", "denied tally", "state chores:party"])
        _ = try ann.send(milk).get()
        isOpen.withLock { $0 = true }
        // As when a rule knows more than claims: a stream is told of that.
        fixture.table.recheck(Subject(issuer: "i", id: "ann"))
        #expect(try stream.events().map(\.kind) == ["state tally", "state chores:party"])
    }

    @Test("82: an id among many labels promises those before it and no more")
    func largeSteps() throws {
        let fixture = try SpaceFixture()
        let ann = try fixture.guest()
        let stream = try ann.stream("party", "picnic")
        _ = try stream.events()
        for number in 0..<8 { _ = try ann.send(call("\(number) \(String(repeating: "x", count: 20_000))")).get() }
        guard case .write(let bytes) = stream.stream.nextStep() else {
            Issue.record("the labels were to take several steps")
            return
        }
        var parser = EventParser()
        let events = try parser.feed(bytes)
        let first = events.filter { $0.name == "label" }
        let id = try #require(events.compactMap(\.id).last)
        stream.stream.closed()
        let resumed = try ann.stream("party", "picnic", from: .cursor(id)).events()
        let rest = resumed.filter { $0.hasPrefix("label") }
        #expect(!first.isEmpty && !rest.isEmpty && first.count + rest.count == 8)
        #expect(rest.first?.contains(#""text":"\#(first.count) x"#) == true)
    }

    @Test("82: if the log of the client's session is lost the connection ends, and the client resumes at its last id")
    func ownLogLost() throws {
        let nodes = try SpacePair()
        let ann = try nodes.here.guest()
        let tally = try #require(FeatureID("tally"))
        let intent = IntentRequest(body: Array(#"{"type":"add","amount":1}"#.utf8))
        let add = { ann.session.send(intent, to: tally) { _ in } }
        add()
        let key = try #require(ann.session.core.withLock { $0.key })
        let kept = try #require(nodes.kept.snapshot(of: key))
        let stream = try ann.stream("party", own: ["tally"])
        _ = try stream.events()
        add()
        _ = try stream.events()
        let id = stream.lastID
        nodes.kept.goBack(key, to: kept, epoch: "another")
        ann.session.catchUp()
        #expect(ann.session.epoch == "another")
        let events = try stream.events()
        #expect(stream.isOver && events.map(\.kind) == ["goaway"] && stream.lastID == id)
        let resumed = try ann.stream("party", own: ["tally"], from: .cursor(id)).events()
        #expect(resumed.contains { $0.hasPrefix("reset") && $0.contains("tally") && !$0.contains("chores") })
    }

    @Test("81: who has lost its session is told its end before a part is asked, though the connection was not woken")
    func notWoken() throws {
        let fixture = try SpaceFixture()
        let (ann, bob) = (try fixture.guest(), try fixture.guest())
        let opened = Box<Result<StreamBundle, StoreError>>()
        StreamBundle.open(ann.session, [], [try ann.named("party")], from: .unspecified, for: ann.own) {
            opened.set($0)
        }
        let stream = try #require(opened.value).get()
        for _ in 0..<3 { _ = stream.nextStep() }
        guard case .wait = stream.nextStep() else {
            Issue.record("the stream was to wait")
            return
        }
        ann.session.end(.ended)
        _ = try bob.send(call("secret")).get()
        guard case .finish(let bytes) = stream.nextStep() else {
            Issue.record("the stream was to end")
            return
        }
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.contains("event: goaway") && !text.contains("chores"))
    }

    @Test("81: a part shows nothing to a client that has lost its session, whatever the other parts were told")
    func partOfEnded() throws {
        let fixture = try SpaceFixture()
        let (ann, bob) = (try fixture.guest(), try fixture.guest())
        let opened = Box<Result<SessionStream, StoreError>>()
        try fixture.space("party").openStream(
            .features([try #require(FeatureID("chores:party"))]), from: .now, isPart: true, for: ann.client
        ) { opened.set($0) }
        let part = try #require(opened.value).get()
        #expect(!part.nextPart().bytes.isEmpty)
        ann.session.end(.ended)
        _ = try bob.send(call("secret")).get()
        #expect(!String(decoding: part.nextPart().bytes, as: UTF8.self).contains("secret"))
    }

    @Test("90: a stream of a session has the same bytes, whether or not there are shared features")
    func unchanged() throws {
        func bytes(_ table: SessionTable) throws -> String {
            let (session, _) = try table.made(.bearer)
            let stream = try session.opened(.features([try #require(FeatureID("tally"))]), from: .unspecified)
            session.send(
                IntentRequest(body: Array(#"{"type":"shoutMany","texts":["a","b"]}"#.utf8)),
                to: try #require(FeatureID("tally"))
            ) { _ in }
            var text = ""
            while case .write(let bytes) = stream.stream.nextStep().asWrite {
                text += String(decoding: bytes, as: UTF8.self)
            }
            return text.replacing(session.id, with: "ID").replacing(session.epoch, with: "EPOCH")
                .replacing(/"intent":"[a-z2-7]*"/, with: "INTENT").replacing(/retry: [0-9]*/, with: "RETRY")
        }
        #expect(try bytes(SpaceFixture().table) == bytes(Fixture().table))
    }
}

extension String {
    /// An event's name, and its feature if it has one.
    var kind: String {
        let name = prefix { $0 != " " }
        guard let start = range(of: #""feature":""#)?.upperBound, name != "hello" else { return String(name) }
        return "\(name) \(self[start...].prefix { $0 != "\"" })"
    }

    private func range(of text: String) -> Range<String.Index>? { ranges(of: text).first }
}

extension StreamStep {
    fileprivate var asWrite: StreamStep { if case .writeAll(let bytes) = self { .write(bytes) } else { self } }
}
