import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("87: messages between nodes", .timeLimit(.minutes(5)))
struct MessageNodeTests {
    @Test("87: a message to a space of another node goes there, in order and once", arguments: [false, true])
    func forwarded(byAsking: Bool) async throws {
        let nodes = try PostPair(forwards: !byAsking)
        let (ann, bob) = (try nodes.here.fixture.guest(), try nodes.there.fixture.guest())
        try await nodes.there.tell(["0"], to: "board floor", from: bob)
        try await nodes.there.got(["0"], at: "floor")
        try await nodes.here.tell(["1", "2"], to: "board floor", from: ann)
        try await nodes.there.until {
            try [nodes.here, nodes.there].contains { try $0.board("floor").got == ["0", "1", "2"] }
        }
        try await nodes.here.isIdle(ann)
    }
}
