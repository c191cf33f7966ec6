import EventStream
import JSONDelta
import MVI
import Testing
import WireJSON

@testable import Sessions

@Suite("Streams that send changes")
struct DeltaTests {
    private struct Patch: Decodable {
        var feature: String
        var from: UInt64
        var to: UInt64
        var intent: String?
        var patch: JSONText
    }

    /// A client with its view state after each event.
    private struct View {
        let form: DeltaForm
        var version: UInt64 = 0
        var state: [UInt8] = []

        private struct Whole: Decodable {
            var version: UInt64
            var state: JSONText
        }

        mutating func take(_ events: [ParsedEvent]) throws {
            for event in events {
                switch event.name {
                case "state":
                    let whole = try WireJSON.decode(Whole.self, from: event.data)
                    (version, state) = (whole.version, whole.state.bytes)
                case "patch":
                    let patch = try WireJSON.decode(Patch.self, from: event.data)
                    #expect(patch.from == version)
                    version = patch.to
                    state =
                        switch form {
                        case .jsonPatch: try JSONPatch.apply(patch.patch.bytes, to: state)
                        case .mergePatch: try MergePatch.apply(patch.patch.bytes, to: state)
                        }
                default: break
                }
            }
        }
    }

    private let note = #"{"type":"write","note":"a text that is long enough for patches to be shorter than the state"}"#

    @Test(
        "show the state whole first, then patches from the version shown last, with the intent",
        arguments: DeltaForm.allCases)
    func patches(form: DeltaForm) throws {
        let fixture = try Fixture()
        try fixture.send(note)
        let stream = try fixture.stream("tally", delta: form)
        #expect(try stream.read().names == ["hello", "state"])
        let reply = try fixture.send(#"{"type":"add","amount":5}"#).get()
        let events = try stream.read()
        #expect(events.names == ["patch"])
        #expect(events[0].id == "\(fixture.session.epoch).3")
        let patch = try WireJSON.decode(Patch.self, from: events[0].data)
        #expect(patch.feature == "tally")
        #expect((patch.from, patch.to) == (2, 3))
        #expect(patch.intent == reply.id.text)
        let text = String(decoding: patch.patch.bytes, as: UTF8.self)
        switch form {
        case .jsonPatch: #expect(text == #"[{"op":"replace","path":"/count","value":5}]"#)
        case .mergePatch: #expect(text == #"{"count":5}"#)
        }
    }

    @Test("resumed or not show the state whole first")
    func resumed() throws {
        let fixture = try Fixture()
        try fixture.send(note)
        let first = try fixture.stream("tally", delta: .mergePatch)
        let id = try #require(try first.read().last?.id)
        let second = try fixture.stream("tally", from: .cursor(id), delta: .mergePatch)
        #expect(try second.read().names == ["hello", "state"])
    }

    @Test("show the whole state if a patch is not shorter")
    func wholeState() throws {
        let fixture = try Fixture()
        let stream = try fixture.stream("tally", delta: .jsonPatch)
        _ = try stream.read()
        try fixture.send(#"{"type":"add","amount":5}"#)
        #expect(try stream.read().names == ["state"])
        try fixture.send(note)
        #expect(try stream.read().names == ["state"])
        try fixture.send(#"{"type":"add","amount":5}"#)
        #expect(try stream.read().names == ["patch"])
    }

    @Test("skip versions and come to the same state as any other stream", arguments: DeltaForm.allCases)
    func skipping(form: DeltaForm) throws {
        let fixture = try Fixture()
        try fixture.send(note)
        var views: [(TestStream, View)] = []
        var patches = [0, 0, 0]
        for _ in 0..<3 { views.append((try fixture.stream("tally", delta: form), View(form: form))) }
        for number in 0..<60 {
            try fixture.send(
                number % 7 == 3
                    ? #"{"type":"write","note":"another text, number \#(number), that has some length as well"}"#
                    : #"{"type":"shoutMany","texts":["\#(number)"]}"#)
            for place in views.indices where number % [1, 3, 11][place] == 0 || number == 59 {
                let events = try views[place].0.read()
                try views[place].1.take(events)
                let now = try fixture.session.stateNow(of: fixture.tally)
                #expect(views[place].1.version == now.version)
                #expect(views[place].1.state == now.view)
                patches[place] += events.named("patch").count
            }
        }
        #expect(patches[0] > 40 && patches[1] > 4)
    }

    @Test("and stand at different versions have a patch made for each version, once")
    func madeOnce() throws {
        let fixture = try Fixture()
        try fixture.send(note)
        let streams = try (0..<4).map { try fixture.stream("tally", delta: $0 == 3 ? .mergePatch : .jsonPatch) }
        for stream in streams { _ = try stream.read() }
        try fixture.send(#"{"type":"add","amount":1}"#)
        _ = try streams[0].read()
        try fixture.send(#"{"type":"add","amount":1}"#)
        let events = try streams.map { try $0.read() }
        #expect(events[1] == events[2])
        #expect(try events.map { try WireJSON.decode(Patch.self, from: $0[0].data).from } == [3, 2, 2, 2])
        let names = fixture.session.core.withLock { $0.stores[fixture.tally]?.patches.map(\.name) } ?? []
        #expect(
            Set(names) == [
                PatchName(feature: fixture.tally, form: .jsonPatch, from: 3, to: 4),
                PatchName(feature: fixture.tally, form: .jsonPatch, from: 2, to: 4),
                PatchName(feature: fixture.tally, form: .mergePatch, from: 2, to: 4),
            ])
        #expect(names.count == 3)
    }

    @Test("show patches beside streams that show whole states")
    func mixed() throws {
        let fixture = try Fixture()
        try fixture.send(note)
        let streams = try [nil, DeltaForm.jsonPatch, nil, .mergePatch].map { try fixture.stream("tally", delta: $0) }
        for stream in streams { _ = try stream.read() }
        for _ in 0..<3 {
            try fixture.send(#"{"type":"shoutMany","texts":["a"]}"#)
            let names = try streams.map { try $0.read().names }
            #expect(names == [["state", "label"], ["patch", "label"], ["state", "label"], ["patch", "label"]])
        }
    }

    @Test("show the whole state of a store that starts again")
    func startsOver() throws {
        let fixture = try Fixture()
        try fixture.send(note)
        let stream = try fixture.stream("tally", delta: .jsonPatch)
        _ = try stream.read()
        #expect(try fixture.session.removed(fixture.tally))
        try fixture.send(note)
        #expect(try stream.read().names == ["end", "state"])
        try fixture.send(#"{"type":"add","amount":1}"#)
        #expect(try stream.read().names == ["patch"])
    }

    @Test("hold no earlier view state after sending the newest")
    func memory() throws {
        let fixture = try Fixture()
        try fixture.send(note)
        let stream = try fixture.stream("tally", delta: .jsonPatch)
        _ = try stream.read()
        try fixture.send(#"{"type":"add","amount":1}"#)
        _ = try stream.read()
        let core = fixture.session.core
        let (shown, stored) = core.withLock { core in
            (core.streams.all[0].delta?.view(of: fixture.tally) ?? [], core.stores[fixture.tally]?.view ?? [])
        }
        #expect(shown == stored)
        // The same memory, not a copy.
        #expect(shown.withUnsafeBufferPointer { $0.baseAddress } == stored.withUnsafeBufferPointer { $0.baseAddress })
    }
}
