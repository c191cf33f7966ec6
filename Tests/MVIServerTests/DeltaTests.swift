import JSONDelta
import TestSupport
import Testing
import WireJSON

@testable import MVIServer

@Suite("Changes over a socket", .timeLimit(.minutes(10)))
struct DeltaTests {
    private struct Whole: Decodable {
        var version: Int
        var state: JSONText
    }

    private struct Patch: Decodable {
        var feature: String
        var from: Int
        var to: Int
        var intent: String
        var patch: JSONText
    }

    @Test(
        "A stream with patches gets the whole state, then patches that lead to the current state",
        arguments: ["json-patch", "merge-patch"])
    func patches(form: String) async throws {
        try await TestServer.run(.socket) { server in
            let session = try await server.session()

            _ = try await server.send(session.intent(#"{"type":"grow","bytes":200}"#))
            for path in ["/features/probe/events?delta=\(form)", "/events?feature=probe&delta=\(form)"] {
                let port = server.port
                let request = session.request("GET", path)
                let stream = try await offThePool {
                    let stream = try Connection(port: port)
                    try stream.send(request)
                    _ = try stream.head()
                    return stream
                }
                let whole = try WireJSON.decode(
                    Whole.self, from: try await offThePool { try stream.event("state").data })
                let key = "key-\(path.count)"
                _ = try await server.send(session.intent(#"{"type":"add","amount":5}"#, [("Idempotency-Key", key)]))
                let patch = try WireJSON.decode(
                    Patch.self, from: try await offThePool { try stream.event("patch").data })
                #expect(patch.feature == "probe" && patch.from == whole.version && patch.intent == key)
                let made =
                    form == "json-patch"
                    ? try JSONPatch.apply(patch.patch.bytes, to: whole.state.bytes)
                    : try MergePatch.apply(patch.patch.bytes, to: whole.state.bytes)
                let state = try await server.send(session.request("GET", "/features/probe/state"))
                #expect(made == state.body)
                #expect(state["etag"]?.hasSuffix(".\(patch.to)\"") == true)
            }
        }
    }
}
