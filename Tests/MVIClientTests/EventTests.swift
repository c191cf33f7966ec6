import Testing

@testable import MVIClient

@Suite("The stream's events")
struct EventTests {
    @Test func `a state below the shown one is not shown`() throws {
        var play = try Play.live()
        try play.state(5)
        #expect(play.deliveries == [.count(5)])
        #expect(try play.state(4).isEmpty)
        try play.state(5)
        #expect(play.deliveries == [.count(5)])
    }

    @Test func `the first state after a hello is shown, whatever its version`() throws {
        var play = try Play.live()
        try play.state(5)
        try play.end(cut: true)
        play.advance(by: .seconds(3))
        try play.hello()
        try play.state(2)
        #expect(play.deliveries == [.count(2)])
    }

    @Test func `versions are of one feature`() throws {
        var play = try Play.live("a", "b")
        try play.state(9, "a")
        try play.state(2, "b")
        #expect(play.commands == [.deliver(feature: "b", .count(2))])
    }

    @Test func `another epoch forgets cursor and ids of labels`() throws {
        var play = try Play.live()
        try play.event("label", Self.label("l1"), id: "e1.2")
        try play.end(cut: true)
        play.advance(by: .seconds(3))
        #expect(try play.request().request["Last-Event-ID"] == "e1.2")
        try play.hello(epoch: "e2", cursor: "")
        try play.event("label", Self.label("l1"))
        #expect(play.deliveries.count == 1)
        try play.end(cut: true)
        play.advance(by: .seconds(3))
        #expect(try play.request().request["Last-Event-ID"] == nil)
    }

    @Test func `a label is handed over once, also over a reconnect`() throws {
        var play = try Play.live()
        try play.event("label", Self.label("l1"), id: "e1.2")
        #expect(
            play.deliveries == [
                .label(
                    StreamLabel(id: "l1", version: 1, isReplay: true, label: Array(#"{"type":"toast"}"#.utf8)))
            ])
        #expect(try play.event("label", Self.label("l1")).isEmpty)
        try play.end(cut: true)
        play.advance(by: .seconds(3))
        try play.hello()
        #expect(try play.event("label", Self.label("l1")).isEmpty)
    }

    @Test func `the last thousand ids of labels are kept`() throws {
        var seen = SeenLabels()
        let fresh = (0..<1_500).map { seen.insert("l\($0)") }
        #expect(fresh.allSatisfy { $0 })
        let known = (500..<1_500).map { seen.insert("l\($0)") }
        #expect(known.allSatisfy { !$0 })
        // The one before them is forgotten, and takes the oldest's place.
        let again = [seen.insert("l499"), seen.insert("l500"), seen.insert("l502")]
        #expect(again == [true, true, false])
    }

    @Test func `the cursor moves with the event that has the id, and with an id alone`() throws {
        var play = try Play.live()
        try play.state(2, id: "e1.2")
        try play.write("id: e1.3\n\nid: e1.9\n")
        try play.end(cut: true)
        play.advance(by: .seconds(3))
        #expect(try play.request().request["Last-Event-ID"] == "e1.3")
    }

    @Test func `an event behind goaway does not move the cursor`() throws {
        var play = try Play.live()
        try play.write(
            "event: goaway\ndata: {\"reason\":\"rotate\",\"retry\":1000}\n\nid: e1.9\nevent: ping\ndata: {}\n\n")
        play.advance(by: .seconds(2))
        #expect(try play.request().request["Last-Event-ID"] == "e1.1")
    }

    @Test func `unknown events and members are ignored`() throws {
        var play = try Play.live()
        #expect(try play.event("news", "{{{").isEmpty)
        try play.event("state", #"{"feature":"counter","version":2,"mood":[1],"state":{"count":2}}"#)
        #expect(play.deliveries == [.count(2)])
    }

    @Test(arguments: [#"{"feature":"counter","ver"#, #"{"feature":"counter"}"#, #"[1]"#])
    func `a known event that cannot be read is reported, and the stream opened anew`(data: String) throws {
        var play = try Play.live()
        try play.event("state", data)
        #expect(play.deliveries.isEmpty)
        #expect(play.commands.contains { if case .report = $0 { true } else { false } })
        #expect(play.conditions == [.reconnecting(after: .seconds(3))])
    }

    @Test func `end, denied and reset are handed on`() throws {
        var play = try Play.live("a", "b")
        try play.event("end", #"{"feature":"a"}"#)
        #expect(play.commands == [.deliver(feature: "a", .ended)])
        try play.event("denied", #"{"feature":"b"}"#)
        #expect(play.commands == [.deliver(feature: "b", .denied)])
        try play.event("reset", #"{"reason":"expired","labelsLost":true}"#)
        #expect(play.deliveries == Array(repeating: .reset(reason: "expired", labelsLost: true), count: 2))
    }

    @Test func `a patch is applied to the state that it is from`() throws {
        var play = try Play.live(change: { $0.delta = .jsonPatch })
        try play.event("patch", Self.patch(from: 1, to: 2))
        #expect(play.deliveries == [.count(2)])
        try play.event("patch", #"{"feature":"counter","from":2,"to":3,"patch":[]}"#)
        #expect(play.deliveries == [.state(version: 3, Array(#"{"count":2}"#.utf8))])
    }

    @Test func `a merge patch is applied where it was asked for`() throws {
        var play = Play { $0.delta = .mergePatch }
        try play.connect()
        #expect(try play.request().request.target == "/events?feature=counter&delta=merge-patch")
        try play.hello()
        try play.state(1)
        try play.event("patch", #"{"feature":"counter","from":1,"to":2,"patch":{"count":2}}"#)
        #expect(play.deliveries == [.count(2)])
    }

    @Test(arguments: [
        #"{"feature":"counter","from":7,"to":8,"patch":[]}"#,
        #"{"feature":"counter","from":1,"to":2,"patch":[{"op":"remove","path":"/none"}]}"#,
        #"{"feature":"counter","from":1,"to":2,"patch":{}}"#,
    ])
    func `a patch that does not fit opens the stream anew at once, the fourth time without patches`(patch: String)
        throws
    {
        var play = try Play.live(change: { $0.delta = .jsonPatch })
        for _ in 0..<2 {
            try play.event("patch", patch)
            #expect(play.deliveries.isEmpty)
            #expect(try play.request().request.target.hasSuffix("&delta=json-patch"))
            try play.hello()
            try play.state(1)
        }
        try play.event("patch", patch)
        #expect(try play.request().request.target == "/events?feature=counter")
    }

    @Test func `a patch of a state that another connection showed does not count`() throws {
        var play = try Play.live(change: { $0.delta = .jsonPatch })
        try play.end(cut: true)
        play.advance(by: .seconds(3))
        try play.hello()
        try play.event("patch", Self.patch(from: 1, to: 2))
        #expect(play.deliveries.isEmpty && play.requests.count == 1)
    }

    private static func label(_ id: String) -> String {
        #"{"feature":"counter","version":1,"id":"\#(id)","replay":true,"label":{"type":"toast"}}"#
    }

    private static func patch(from: Int, to: Int) -> String {
        #"{"feature":"counter","from":\#(from),"to":\#(to),"patch":[{"op":"replace","path":"/count","value":\#(to)}]}"#
    }
}
