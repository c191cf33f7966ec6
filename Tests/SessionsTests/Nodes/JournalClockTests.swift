import MVI
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("The clock of nodes that share a journal")
struct JournalClockTests {
    private let kept = MemoryJournal()
    private let cluster = NodeJournal.Cluster()
    private let truth = ManualTime()
    private let day: Duration = .seconds(24 * 3_600)

    private func node() throws -> Fixture {
        try Fixture(journal: NodeJournal(kept, cluster, now: { [truth] in truth.source.sinceEpoch() }))
    }

    private func pass(_ seconds: Int, _ nodes: [Fixture]) {
        for _ in 0..<seconds {
            truth.advance(by: .seconds(1))
            for (number, node) in nodes.enumerated() {
                node.time.advance(by: .seconds(1))
                node.table.beat(at: "node-\(number):1")
                node.table.sweep(part: 1)
            }
        }
    }

    private func isKept(_ node: Fixture) throws -> Bool {
        let key = try #require(node.session.core.withLock { $0.key })
        return kept.mark(of: key) != nil
    }

    @Test("is the journal's: a node whose own is a day off expires no session, reports that, and uses the right time")
    func ahead() throws {
        for offset in [day + day, .zero - day - day] {
            let (one, other) = (try node(), try node())
            try one.send(#"{"type":"add","amount":1}"#)
            other.time.step(by: offset)
            pass(30, [one, other])
            #expect(try isKept(one))
            let clock = try #require(other.table.environment.lease?.clock)
            let trouble = clock.trouble ?? ""
            #expect(trouble.contains(offset > .zero ? "s ahead of" : "s behind"))
            #expect(one.table.environment.lease?.clock.trouble == nil)
            let error = other.table.environment.time.sinceEpoch() - truth.source.sinceEpoch()
            #expect(error <= .seconds(1) && error >= .seconds(-1))
            other.time.step(by: .zero - offset)
            pass(4, [one, other])
            #expect(clock.trouble == nil)
        }
    }

    @Test("expires unused sessions on any node")
    func expiry() throws {
        let (one, other) = (try node(), try node())
        try one.send(#"{"type":"add","amount":1}"#)
        pass(10, [one, other])
        for time in [truth, one.time, other.time] { time.advance(by: day + day) }
        pass(40, [one, other])
        #expect(try !isKept(one))
    }

    @Test("ignores a slow answer, and follows one that shows that it was set")
    func estimate() {
        let own = ManualTime()
        let clock = JournalClock(own.source)
        let now = own.source.monotonic()
        let time = own.source.sinceEpoch()
        clock.note(time + .seconds(5), sent: now, received: now)
        #expect(clock.difference == .seconds(-5))
        // It was asked ten seconds ago: any time between is possible.
        clock.note(time, sent: now - .seconds(10), received: now)
        #expect(clock.difference == .seconds(-5))
        clock.note(time + .seconds(100), sent: now - .seconds(1), received: now)
        #expect(clock.difference == .seconds(-100) && clock.trouble?.contains("100 s behind") == true)
    }
}
