import Locking
import MVI

/// The other stores of a session, as turns that run again read them.
package final class RerunHost: TurnHost {
    package var isRecorded: Bool { true }
    package var isShared: Bool { false }

    /// Returns the runner of an instance with the state after the turn of a number; nil if that is not recorded.
    package typealias Reader =
        @Sendable (_ session: RecordedSession, _ instance: String, _ number: UInt64) -> (
            any StoreRunner
        )?

    /// By feature name.
    private let readers: [String: Reader]
    private let reads = Lock<[String: any StoreRunner]>([:])

    package init(_ readers: [String: Reader]) { self.readers = readers }

    /// Reads the states of a feature's instances from recordings.
    package static func reader<F: Feature>(_ feature: F) -> Reader {
        { session, instance, number in
            let turn = session.turns.last { $0.feature == instance && $0.sequence <= number }
            guard let turn, turn.sequence == number,
                let recording = session.recording(of: turn, F.self, initial: feature.initialState)
            else { return nil }
            return TurnRunner(
                feature, state: recording.state,
                environment: StoreEnvironment(instance: instance, session: session.info), middleware: []
            ) { turn, _, _ in TurnResult(turn) }
        }
    }

    /// Prepares the stores that one turn read. Returns false if one of them is not recorded.
    func read(_ reads: [TurnFacts.Read], of session: RecordedSession) -> Bool {
        var found: [String: any StoreRunner] = [:]
        for read in reads {
            let name = String(read.feature.prefix { $0 != ":" })
            found[read.feature] = readers[name]?(session, read.feature, read.number)
        }
        self.reads.withLock { $0 = found }
        return reads.allSatisfy { found[$0.feature] != nil }
    }

    package func runner(of instance: String, for principal: Principal?, isAtOnce: Bool) throws -> any StoreRunner {
        guard let runner = reads.withLock({ $0[instance] }) else { throw StoreIsAbsent(instance: instance) }
        return runner
    }

    package func number(of instance: String) -> UInt64 { 0 }
    /// A turn that asked has what it was told.
    package func viewers(of instance: String) -> KnownViewers { KnownViewers(Viewers<Never>(), json: "") }
    package func check(_ effects: [Effect], after earlier: [Effect]) throws {}
    package func isRunning(_ id: WorkID, after earlier: [Effect], _ effects: [Effect]) -> Bool { false }
    package func parts(after effects: [Effect]) -> Set<PartName> { [] }
    package func check(_ reminders: [EncodedReminder]) throws {}
    package func tookLong(_ nanoseconds: UInt64, _ intentID: IntentID) {}
    package func noteGonePart() {}
}
