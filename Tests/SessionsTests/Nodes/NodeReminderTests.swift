import MVI
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("Reminders of a session that several nodes use", .timeLimit(.minutes(10)))
struct NodeReminderTests {
    private let till = FeatureID(name: "till", key: nil)

    /// Returns two nodes, the first of which has set a reminder that is due in 60 s.
    private func reminded(
        _ cluster: NodeJournal.Cluster, _ time: ManualTime
    ) throws -> (tables: [SessionTable], session: Session, token: SessionToken) {
        let kept = MemoryJournal()
        let tables = try (0..<2).map { _ in
            SessionTable(
                environment: SessionEnvironment(
                    features: try FeatureRegistry([FeatureDefinition(Till()), FeatureDefinition(Trolley())]),
                    journal: NodeJournal(kept, cluster) { time.source.sinceEpoch() }, time: time.source))
        }
        for table in tables { table.listen() }
        beat(tables)
        let (session, token) = try tables[0].made(.bearer)
        #expect(try session.told(#"{"type":"ring","after":60}"#, to: till) == "ran")
        return (tables, session, token)
    }

    private func beat(_ tables: [SessionTable]) {
        for (number, table) in tables.enumerated() { table.beat(at: "node-\(number):1") }
    }

    private func hasRung(_ token: SessionToken, in table: SessionTable) throws -> Bool {
        String(decoding: try table.live(token).stateNow(of: till).view, as: UTF8.self).contains(#""rings":1"#)
    }

    @Test("a reminder fires on a node that was not told that the owner released the session")
    func unheardRelease() async throws {
        let (cluster, time) = (NodeJournal.Cluster(), ManualTime())
        let (tables, session, token) = try reminded(cluster, time)
        let there = try tables[1].live(token)
        let owner = try #require(tables[0].environment.lease?.id)
        there.core.withLock { $0.ownership.owner = SessionOwner(node: owner, fence: $0.head) }
        cluster.lose(true)
        #expect(try session.told(#"{"type":"stamp"}"#, to: till) == "ran")
        for _ in 0..<60 {
            time.advance(by: .seconds(1))
            beat(tables)
        }
        #expect(!there.mayRun)
        _ = await tables[1].fireDueReminders()
        #expect(try hasRung(token, in: tables[1]))
    }

    @Test("a reminder fires on one node, and on the other if the first dies before the commit")
    func reminders() async throws {
        let (cluster, time) = (NodeJournal.Cluster(), ManualTime())
        let (tables, _, token) = try reminded(cluster, time)
        #expect(await tables[1].fireDueReminders() == time.source.sinceEpoch() + .seconds(60))
        time.advance(by: .seconds(60))
        beat(tables)
        // One node claims it and leaves.
        let node = try #require(tables[0].environment.lease?.id)
        let taken = Box<Int>()
        tables[0].environment.sharedJournal?.claimAlarms(
            dueAt: time.source.sinceEpoch(), by: node, for: .seconds(30), limit: 10
        ) { taken.set((try? $0.get().due.count) ?? 0) }
        #expect(taken.value == 1)
        _ = await tables[1].fireDueReminders()
        #expect(try !hasRung(token, in: tables[1]))
        time.advance(by: .seconds(30))
        beat(tables)
        _ = await tables[1].fireDueReminders()
        #expect(try hasRung(token, in: tables[1]))
        #expect(await tables[0].fireDueReminders() == nil)
    }
}
