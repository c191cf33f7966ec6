import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

/// Two nodes of one cluster with one session, each with clocks of its own.
struct NodePair {
    let cluster = NodeJournal.Cluster()
    let kept = MemoryJournal()
    let here: Fixture
    let there: Fixture
    let hereJournal: NodeJournal
    let thereJournal: NodeJournal
    /// The session of `here` on the other node.
    let other: Session
    let hereGate = Gate()
    let thereGate = Gate()

    init(_ change: (inout SessionLimits) -> Void = { _ in }) throws {
        (hereJournal, thereJournal) = (NodeJournal(kept, cluster), NodeJournal(kept, cluster))
        here = try Fixture(journal: hereJournal, gate: hereGate, change)
        there = try Fixture(journal: thereJournal, gate: thereGate, change)
        for node in [here, there] { node.table.listen() }
        other = try there.table.live(here.token)
        beat([here, there])
    }

    /// Advances some seconds, in which these nodes run.
    func pass(_ seconds: Int, running: [Fixture]? = nil) {
        for _ in 0..<seconds {
            for node in [here, there] { node.time.advance(by: .seconds(1)) }
            beat(running ?? [here, there])
        }
    }

    private func beat(_ nodes: [Fixture]) {
        for node in nodes { node.table.beat(at: node.table === here.table ? "here:1" : "there:2") }
    }

    /// Sends an intent to the other node.
    func sendThere(
        _ body: String, name: IntentRequest.Name? = nil, ifMatch: (@Sendable (ClosedRange<UInt64>) -> Bool)? = nil
    ) throws -> Result<IntentOutcome, StoreError> {
        let answer = Answer()
        other.send(IntentRequest(body: Array(body.utf8), name: name, ifMatch: ifMatch), to: here.tally) {
            answer.set($0)
        }
        return try #require(answer.value, "the answer was to come at once")
    }

    /// Sends an intent whose answer waits for the work that it launches.
    func settle(_ body: String, in session: Session) -> Answer {
        let answer = Answer()
        session.send(IntentRequest(body: Array(body.utf8), wait: .seconds(20)), to: here.tally) { answer.set($0) }
        return answer
    }

    var owner: SessionOwner? {
        get throws { kept.owner(of: try #require(here.session.core.withLock { $0.key })) }
    }

    /// The same if the session's queue may continue on another thread.
    func countLater(_ session: Session) async throws -> String {
        let result = await withCheckedContinuation { continuation in
            session.state(of: here.tally) { continuation.resume(returning: $0) }
        }
        return String(decoding: try result.get().view, as: UTF8.self)
    }

    func count(_ session: Session) throws -> String {
        String(decoding: try session.stateNow(of: here.tally).view, as: UTF8.self)
    }
}
