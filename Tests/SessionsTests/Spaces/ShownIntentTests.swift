import JSONDelta
import MVI
import Testing

@testable import Sessions

@Suite("85: whose intent an event of a shared store names")
struct ShownIntentTests {
    private let milk = #"{"type":"add","text":"milk"}"#

    @Test(
        "a client's key is shown to that client only, in states, patches and labels",
        arguments: [nil, DeltaForm.jsonPatch])
    func keys(delta: DeltaForm?) async throws {
        let fixture = try SpaceFixture()
        let ann = try fixture.guest()
        let hal = try await fixture.user("hal", ["role": "host"])
        let own = [try ann.stream("party", delta: delta), try ann.stream("door:inn", delta: delta)]
        let others = try [fixture.guest(), fixture.guest(), hal].flatMap { client in
            [try client.stream("party", delta: delta), try client.stream("door:inn", delta: delta)]
        }
        for reader in own + others { _ = try reader.events() }
        for round in 0..<2 {
            // Other streams are sent the same bytes, whoever comes first.
            let order = round == 0 ? own + others : others + own
            _ = try ann.send(milk, key: "ann-secret-milk\(round)", to: "party").get()
            _ = try ann.send(
                #"{"type":"join","name":"ann","secret":"s"}"#, key: "ann-secret-join\(round)", to: "door:inn"
            )
            .get()
            _ = try ann.send(#"{"type":"call","text":"tea"}"#, key: "ann-secret-call\(round)", to: "door:inn").get()
            for reader in order { _ = try reader.events() }
        }
        for (reader, names) in zip(own, [["ann-secret-milk1"], ["ann-secret-join0", "ann-secret-call1"]]) {
            let text = String(decoding: reader.bytes, as: UTF8.self)
            for name in names { #expect(text.contains(#""intent":"\#(name)""#)) }
        }
        for reader in others {
            #expect(reader.bytes.count > 400)
            #expect(!String(decoding: reader.bytes, as: UTF8.self).contains("ann-secret"))
        }
        let late = try fixture.guest().stream("party", "door:inn")
        _ = try late.events()
        let text = String(decoding: late.bytes, as: UTF8.self)
        #expect(text.contains("milk") && !text.contains("ann-secret"))
    }

    @Test("an id that the server made is shown to all")
    func made() throws {
        let fixture = try SpaceFixture()
        let (ann, bob) = (try fixture.guest(), try fixture.guest())
        let reader = try bob.stream("party")
        _ = try reader.events()
        let answer = try ann.send(milk, to: "party").get()
        #expect(try reader.events().contains { $0.contains(#""intent":"\#(answer.id.text)""#) })
        #expect(answer.id.isServers && !IntentID("ann-secret").isServers)
    }
}
