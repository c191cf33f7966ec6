import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

/// Faults in the handling of a batch's stores at its end.
@Suite("Faults of a batch's stores", .timeLimit(.minutes(10)))
struct FaultEntryTests {
    private let journal = HeldJournal()
    private let executor = SteppedExecutor()
    private let begun = Collected<String>()
    private let ended = Collected<String>()
    private let probes: Probes

    init() throws { probes = try Probes() }

    /// Returns a session whose launched work runs until it is canceled.
    private func session() throws -> (table: SessionTable, session: Session) {
        let hooks = Probe.Hooks(work: { [begun, ended] work in
            begun.append("work")
            do { try await work.sleep(for: .seconds(1_000_000)) } catch { ended.append("work") }
        })
        let table = try Cluster().node(Probe.definition(hooks), journal: journal, executor: executor)
        return (table, try table.made(.bearer).session)
    }

    /// Runs every ready task.
    private func runTasks() {
        var random = SplitMix(seed: 1)
        while executor.step(&random) {}
    }

    private func remove(_ feature: FeatureID, from session: Session) -> Box<Result<Bool, StoreError>> {
        let removed = Box<Result<Bool, StoreError>>()
        session.removeStore(feature) { removed.set($0) }
        return removed
    }

    @Test("67: a store that one batch created and disposed leaves no work")
    func madeAndDisposed() throws {
        let (_, session) = try session()
        try session.told(.put(text: "first"), to: probes.first)
        journal.hold()
        let held = try session.send(.put(text: "held"), to: probes.first)
        let launched = try session.send(.launch(text: "launch"), to: probes.second)
        let removed = remove(probes.second, from: session)
        journal.release()
        #expect([held.told, launched.told] == ["ran", "ran"])
        #expect(try removed.value?.get() == true)
        runTasks()
        #expect(begun.all.isEmpty)
        #expect(session.storeIDs == [probes.first])
        #expect(session.diagnostics.runningWork == 0)
    }

    @Test("67: a store that replaces a disposed one leaves no work if its batch fails")
    func madeAnewAndFailed() throws {
        let (_, session) = try session()
        try session.told(.put(text: "first"), to: probes.first)
        journal.hold()
        _ = try session.send(.put(text: "held"), to: probes.first)
        let removed = remove(probes.first, from: session)
        let launched = try session.send(.launch(text: "launch"), to: probes.first)
        journal.endOne(.committed)
        journal.endOne(.failed(.full))
        #expect(launched.told == "full")
        #expect(throws: StoreError.self) { try removed.value?.get() }
        journal.release()
        runTasks()
        #expect(begun.all.isEmpty)
        #expect(try session.entries(of: probes.first) == ["first", "held"])
    }

    @Test("67: a feature instance that one batch creates, disposes and creates again has only the last store's work")
    func madeTwice() throws {
        let (_, session) = try session()
        try session.told(.put(text: "first"), to: probes.first)
        journal.hold()
        _ = try session.send(.put(text: "held"), to: probes.first)
        _ = remove(probes.first, from: session)
        _ = try session.send(.launch(text: "second"), to: probes.first)
        _ = remove(probes.first, from: session)
        let last = try session.send(.launch(text: "third"), to: probes.first)
        journal.release()
        #expect(last.told == "ran")
        runTasks()
        #expect(begun.all.count == 1)
        #expect(try session.removed(probes.first))
        runTasks()
        #expect(ended.all.count == 1)
        #expect(session.storeIDs.isEmpty)
    }

    @Test("49: an intent and a disposal that could not be committed leave nothing")
    func failedDisposal() throws {
        let (_, session) = try session()
        try session.told(.put(text: "first"), to: probes.first)
        journal.hold()
        let held = try session.send(.put(text: "held"), to: probes.first)
        let refused = try session.send(.put(text: "refused"), to: probes.first)
        let removed = remove(probes.first, from: session)
        journal.endOne(.committed)
        journal.endOne(.failed(.full))
        #expect([held.told, refused.told] == ["ran", "full"])
        #expect(throws: StoreError.self) { try removed.value?.get() }
        journal.release()
        try session.told(.put(text: "next"), to: probes.first)
        #expect(try session.entries(of: probes.first) == ["first", "held", "next"])
    }

    @Test("32: a store from the append in flight does not start in an ended session")
    func endedMeanwhile() throws {
        let (_, session) = try session()
        journal.hold()
        let answer = try session.send(.launch(text: "launch"), to: probes.first)
        #expect(journal.waiting == 1)
        session.end(.expired)
        journal.releaseOne()
        #expect(answer.told == "ran")
        runTasks()
        #expect(begun.all.isEmpty)
        #expect(session.liveStoreCount == 0)
    }

    @Test("32: a session that ended while its append was in flight is released")
    func releasedAfterEnd() throws {
        weak var ended: Session?
        do {
            let (table, session) = try session()
            ended = session
            try session.told(.put(text: "first"), to: probes.first)
            journal.hold()
            _ = try session.send(.launch(text: "launch"), to: probes.second)
            try table.endHeld(session)
            journal.release()
            runTasks()
        }
        #expect(ended == nil)
    }
}

extension SessionTable {
    /// Ends a session; the journal may hold the removal.
    fileprivate func endHeld(_ session: Session) throws { end(session) { _ in } }
}
