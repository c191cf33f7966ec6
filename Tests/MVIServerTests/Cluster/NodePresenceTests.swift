import Locking
import MVI
import TestSupport
import Testing

@testable import MVIServer

@Suite("86: presence on several nodes", .timeLimit(.minutes(5)))
struct NodePresenceTests {
    @FeatureBuilder private static var content: ServerContent { Shared { Hall() }.allows(.everyone) }

    /// Advances the time of both nodes until a body is done.
    private func overTime(of pair: NodePair, _ body: @escaping @Sendable () throws -> Void) async throws {
        let isDone = Lock(false)
        async let result: Void = offThePool {
            defer { isDone.withLock { $0 = true } }
            try body()
        }
        while !isDone.withLock({ $0 }) {
            pair.pass(1)
            // As every few seconds: a report counts for fifteen.
            for node in [pair.near, pair.far] { NodeService(node.assembly).tellOfWatchers() }
            for node in [pair.near, pair.far] {
                node.clock.advance(by: .seconds(1))
                #expect(try await node.isServing())
            }
        }
        try await result
    }

    @Test("streams of each node tell the clients of both, until they have left")
    func streams() async throws {
        try await NodePair.run(.socket, with: Self.content) { pair in
            pair.pass(10)
            var streams: [Connection] = []
            for node in [pair.far, pair.near] {
                let session = try await node.session()
                let stream = try Connection(port: node.port)
                try stream.send(session.request("GET", "/events?feature=hall"))
                try await overTime(of: pair) { _ = try stream.event("state") }
                streams.append(stream)
            }
            for stream in streams {
                try await overTime(of: pair) {
                    while try !stream.event("presence").text.contains(#""count":2,"viewers":["x","x"]"#) {}
                }
            }
            let last = streams.removeLast()
            streams.removeAll()
            try await overTime(of: pair) { while try !last.event("presence").text.contains(#""count":1,"#) {} }
        }
    }
}

/// A room whose visitors see each other.
private struct Hall: Feature {
    enum Intent: Codable, Sendable { case enter }
    static let examples: [Intent] = [.enter]
    let initialState = 0
    func presence(of viewer: Viewer) -> String? { "x" }
    func reduce(_ state: inout Int, _ intent: Intent) { state += 1 }
}
