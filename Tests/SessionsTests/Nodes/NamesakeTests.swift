import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("Two nodes with one address")
struct NamesakeTests {
    private let kept = MemoryJournal()
    private let cluster = NodeJournal.Cluster()

    private func node(gate: Gate = Gate()) throws -> Fixture {
        let node = try Fixture(journal: NodeJournal(kept, cluster), gate: gate)
        node.table.listen()
        return node
    }

    private func pass(_ seconds: Int, running: [Fixture], waiting: [Fixture] = []) {
        for _ in 0..<seconds {
            for node in running + waiting { node.time.advance(by: .seconds(1)) }
            for node in running { node.table.beat(at: "same:1") }
        }
    }

    private func trouble(_ node: Fixture) -> String? { node.table.environment.lease?.addressTrouble }

    @Test("only the younger one runs no work, until the other one's lease has ended")
    func living() throws {
        let (older, younger) = (try node(), try node())
        pass(4, running: [older])
        pass(30, running: [younger, older])
        #expect(older.table.mayRunWork && trouble(older) == nil)
        #expect(!younger.table.mayRunWork)
        let text = try #require(trouble(younger))
        #expect(text.contains("same:1") && text.contains("--node-address") && text.contains("at most 13 s"))
        // It joins once more only.
        let id = younger.table.environment.lease?.id
        pass(10, running: [younger, older])
        #expect(id != nil && younger.table.environment.lease?.id == id)
        pass(12, running: [younger], waiting: [older])
        #expect(!younger.table.mayRunWork)
        pass(5, running: [younger], waiting: [older])
        #expect(younger.table.mayRunWork && trouble(younger) == nil)
        // Now the other one is the younger.
        pass(30, running: [older, younger])
        #expect(younger.table.mayRunWork && !older.table.mayRunWork && trouble(older) != nil)
    }

    @Test("a node that was started again after a crash works at once beside its predecessor's lease")
    func restarted() throws {
        let first = try node()
        pass(10, running: [first])
        let second = try node()
        for _ in 0..<20 {
            pass(1, running: [second])
            #expect(second.table.mayRunWork && trouble(second) == nil)
        }
    }

    @Test("leave the sessions that the younger one took before it knew to the older one")
    func sessions() async throws {
        let (older, gate) = (try node(), Gate())
        pass(4, running: [older])
        let younger = try node(gate: gate)
        pass(1, running: [younger])
        #expect(younger.table.mayRunWork)
        _ = try younger.send(#"{"type":"add","amount":1}"#).get()
        younger.session.send(IntentRequest(body: Array(#"{"type":"load"}"#.utf8)), to: younger.tally) { _ in }
        await gate.waiters()
        let key = try #require(younger.session.core.withLock { $0.key })
        let taken = try #require(younger.table.environment.lease?.id)
        #expect(kept.owner(of: key)?.node == taken)
        pass(30, running: [older, younger])
        #expect(kept.owner(of: key)?.node != taken)
        let (session, answer) = (try older.table.live(younger.token), Answer())
        session.send(IntentRequest(body: Array(#"{"type":"add","amount":1}"#.utf8)), to: older.tally) {
            answer.set($0)
        }
        _ = try await answer.wait().get()
        let state = String(decoding: try session.stateNow(of: older.tally).view, as: UTF8.self)
        #expect(state.contains(#""count":2"#), "\(state)")
        gate.open()
    }
}
