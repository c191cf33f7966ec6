import Testing

@testable import MVIServer

/// Good requests with bytes changed at random, from fixed seeds: every answer is in the contract, none is a 500, and
/// the next request is served.
@Suite("Requests with bytes changed", .timeLimit(.minutes(10)))
struct MutationTests {
    /// SplitMix64 (https://prng.di.unimi.it/splitmix64.c): the same numbers for the same seed.
    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
            return mixed ^ (mixed >> 31)
        }
    }

    private static let interesting: [UInt8] =
        Array("{}[]\":,\\/%;=*?&#\u{0}\r\n\t -.09azAZ".utf8) + [0x7F, 0x80, 0xC3, 0xFF]

    private func mutate(_ bytes: [UInt8], _ generator: inout Generator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            let byte = Self.interesting.randomElement(using: &generator) ?? 0
            let place = Int.random(in: 0...bytes.count, using: &generator)
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: bytes.insert(byte, at: place)
            case 1 where place < bytes.count: bytes.remove(at: place)
            case 2 where place < bytes.count: bytes[place] = byte
            default: bytes = Array(bytes.prefix(place))
            }
        }
        return bytes
    }

    /// A field's value that the HTTP layer accepts: without control characters.
    private func mutateValue(_ value: String, _ generator: inout Generator) -> String {
        let bytes = mutate(Array(value.utf8), &generator).filter { $0 >= 0x20 && $0 != 0x7F }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("are answered within the contract", arguments: 0..<4)
    func mutated(seed: Int) async throws {
        try await TestServer.run(.memory) { server in
            var generator = Generator(state: UInt64(seed))
            let session = try await server.session()
            let fields = [
                ("Idempotency-Key", "\"key-1\""), ("If-Match", "\"aaaa.1\", W/\"b\""), ("If-None-Match", "\"aaaa.1\""),
                ("Prefer", "return=representation, respond-async"), ("Accept", "text/event-stream;q=0.5, */*"),
                ("Last-Event-ID", "aaaa.1"), ("Origin", "http://localhost"), ("Cookie", "a=b; mvi_session=AAAA"),
            ]
            for _ in 0..<100 {
                for (method, target, body) in [
                    ("POST", "/features/probe/intents", #"{"type":"add","amount":5}"#),
                    ("POST", "/features/item:1/intents", #"{"type":"weigh","weight":1.5}"#),
                    ("GET", "/features/item:1/state", ""), ("GET", "/events?feature=probe&last_event_id=a.1", ""),
                    ("POST", "/sessions", #"{"credential":"bearer"}"#), ("GET", "/problems/busy", ""),
                ] {
                    var request = session.request(method, target)
                    let (name, value) = fields[Int.random(in: 0..<fields.count, using: &generator)]
                    request.fields.append((name, mutateValue(value, &generator)))
                    if !body.isEmpty {
                        request.fields.append(("Content-Type", "application/json"))
                        request.body = mutate(Array(body.utf8), &generator)
                    }
                    if Bool.random(using: &generator) {
                        request.target = "/" + mutateValue(String(target.dropFirst()), &generator)
                    }
                    let response = try await server.send(request)
                    #expect(response.status < 500, "\(request) → \(response.status) \(response.text)")
                }
            }
            #expect(try await server.isServing())
        }
    }

    @Test("concurrent intents from many connections each run once")
    func concurrent() async throws {
        try await TestServer.run(.socket) { server in
            let session = try await server.session()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        for _ in 0..<25 {
                            let response = try await server.send(session.intent(#"{"type":"increment"}"#))
                            #expect(response.status == 202)
                        }
                    }
                }
                try await group.waitForAll()
            }
            let state = try await server.send(session.request("GET", "/features/probe/state"))
            #expect(try state.json(Probe.State.self).count == 200)
            #expect(state["etag"]?.hasSuffix(".201\"") == true)
        }
    }
}
