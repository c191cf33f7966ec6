import Locking
import MVI
import SessionJournal

/// A recorded turn, and a text that may be its state.
struct WitnessedTurn: Sendable {
    var turn: RecordedTurn
    let state: [UInt8]?
}

/// Writes the recordings of committed turns to the journal, beside the commits: a second later, before they are read here,
/// and before the server stops. A crash loses those that wait.
///
/// Any thread may call it, with no lock held. What a slow journal leaves waiting is bounded; turns beyond are dropped.
final class RecordingWriter: Sendable {
    private struct Session {
        var turns: [WitnessedTurn] = []
        var limit = RecordingLimit.none

        /// Adds the newest turn. Turns of a lost branch of the log, with the same numbers, go.
        mutating func add(_ turn: WitnessedTurn) {
            if let last = turns.last, turn.turn.number <= last.turn.number {
                turns.removeAll { $0.turn.number >= turn.turn.number }
            }
            turns.append(turn)
        }
    }

    private struct State {
        /// The recordings to write in the next round.
        var waiting: [SessionKey: Session] = [:]
        var bytes = 0
        /// Those of the running round.
        var round: [(SessionKey, Session)] = []
        var isWriting = false
        /// True if a round will be due, and if one became due while another was running.
        var isScheduled = false
        var isDue = false
        /// Called at the end of the running round, and of the next one.
        var waiters: [@Sendable () -> Void] = []
        var nextWaiters: [@Sendable () -> Void] = []
        /// The turns that are not written, since the last report.
        var lost = 0
        var error: StoreError?
    }

    /// The size of all recordings that may wait, the one that waits no longer, and the size and number of sessions of one
    /// operation of the journal.
    private static let mostBytes = 32 << 20
    private static let dueBytes = 4 << 20
    private static let piece = (bytes: 256 << 10, sessions: 64)

    private let journal: any Journal
    private let delay: Duration
    private let clock: any Clock<Duration>
    private let executor: (any TaskExecutor)?
    private let report: @Sendable (StoreReport) -> Void
    private let state = Lock(State())
    private let splices = Lock(RecordedStates())

    /// - Parameter delay: the time that a recording waits for others; zero to write each at once.
    init(
        _ journal: any Journal, delay: Duration, clock: any Clock<Duration>, executor: (any TaskExecutor)?,
        report: @escaping @Sendable (StoreReport) -> Void
    ) {
        (self.journal, self.delay, self.clock) = (journal, delay, clock)
        (self.executor, self.report) = (executor, report)
    }

    /// Takes the recordings of a session's committed turns.
    func add(_ turns: [WitnessedTurn], of session: SessionKey, _ limit: RecordingLimit) {
        let (isFirst, isDue) = state.withLock { state in
            let before = state.bytes
            for turn in turns {
                guard state.bytes + turn.turn.recording.count <= Self.mostBytes else {
                    state.lost += 1
                    continue
                }
                state.bytes += turn.turn.recording.count
                state.waiting[session, default: Session()].add(turn)
            }
            state.waiting[session]?.limit = limit
            defer { state.isScheduled = true }
            return (!state.isScheduled, before < Self.dueBytes && state.bytes >= Self.dueBytes)
        }
        if delay == .zero {
            if isFirst { write() }
        } else if isFirst || isDue {
            Task(executorPreference: executor) { [self, clock, delay] in
                if !isDue { try? await clock.sleep(for: delay) }
                write()
            }
        }
    }

    /// Calls `done` when the recordings of all turns that were committed before are written or lost.
    func flush(_ done: @escaping @Sendable () -> Void) {
        let isIdle = state.withLock { state in
            if state.waiting.isEmpty, !state.isWriting { return true }
            state.nextWaiters.append(done)
            return false
        }
        if isIdle { done() } else { write() }
    }

    /// Has a session's next recordings begin with whole states: the turns before are deleted.
    func forget(_ session: SessionKey) { splices.withLock { $0.forget(session) } }

    /// Begins a round if none is running.
    private func write() {
        let begins = state.withLock { state in
            state.isDue = state.isWriting
            guard !state.isWriting else { return false }
            (state.isWriting, state.isScheduled) = (true, false)
            state.round = state.waiting.map { ($0, $1) }
            (state.waiting, state.bytes) = ([:], 0)
            (state.waiters, state.nextWaiters) = (state.nextWaiters, [])
            return true
        }
        if begins { writePiece() }
    }

    private func writePiece() {
        let piece = state.withLock { state -> [(SessionKey, Session)] in
            var (piece, bytes): ([(SessionKey, Session)], Int) = ([], 0)
            while piece.count < Self.piece.sessions, bytes < Self.piece.bytes, let next = state.round.popLast() {
                bytes += next.1.turns.reduce(0) { $0 + $1.turn.recording.count }
                piece.append(next)
            }
            return piece
        }
        if piece.isEmpty { return endRound() }
        let recordings = splices.withLock { splices in
            piece.map { key, session in
                SessionRecordings(key, session.turns.map { splices.spliced($0, of: key, session.limit) }, session.limit)
            }
        }
        journal.record(recordings) { [self] result in
            if case .failure(let error) = result {
                splices.withLock { splices in for each in recordings { splices.forget(each.session) } }
                state.withLock { state in
                    state.lost += recordings.reduce(0) { $0 + $1.turns.count }
                    state.error = error
                }
            }
            writePiece()
        }
    }

    private func endRound() {
        let (waiters, isNext, lost, error) = state.withLock { state in
            defer { (state.isWriting, state.waiters, state.lost, state.error) = (false, [], 0, nil) }
            return (state.waiters, state.isDue, state.lost, state.error)
        }
        if lost > 0 { report(.recordingsLost(count: lost, error)) }
        for waiter in waiters { waiter() }
        if isNext { write() }
    }
}

/// The states of stores' last written recordings, from which the next ones are spliced.
struct RecordedStates {
    private static let mostBytes = 32 << 20

    private var states: [SessionKey: [FeatureID: RecordedState]] = [:]
    private var bytes = 0

    mutating func forget(_ session: SessionKey) {
        for state in states.removeValue(forKey: session)?.values ?? [:].values { bytes -= state.state.count }
    }

    private mutating func set(_ state: RecordedState?, _ feature: FeatureID, of session: SessionKey) {
        bytes += (state?.state.count ?? 0) - (states[session]?[feature]?.state.count ?? 0)
        states[session, default: [:]][feature] = state
        // The next ones are whole.
        if bytes > Self.mostBytes { (states, bytes) = ([:], 0) }
    }

    /// Returns a turn's recording, with a splice if the turn before is recorded. One that is larger than all that is kept
    /// says only that: in its place every other turn would be dropped.
    mutating func spliced(
        _ witnessed: WitnessedTurn, of session: SessionKey, _ limit: RecordingLimit
    ) -> RecordedTurn {
        var turn = witnessed.turn
        // Without a limit of bytes nothing is gained.
        guard limit.bytes < .max else { return turn }
        let before = states[session]?[turn.feature]
        var now: RecordedState?
        defer { set(now, turn.feature, of: session) }
        // A small one gains nothing.
        if turn.recording.count >= 512,
            let text = RecordingText(turn.recording, known: [witnessed.state, before?.state])
        {
            if let before, before.number < turn.number, turn.number - before.whole < RecordedState.interval(limit),
                let spliced = text.spliced(from: before)
            {
                now = RecordedState(turn.number, text.state, since: before.whole)
                turn.recording = spliced
                return turn
            }
            if turn.recording.count <= limit.bytes { now = RecordedState(turn.number, text.state) }
        }
        guard turn.recording.count > limit.bytes, let intent = RecordingText.intent(of: turn.recording) else {
            return turn
        }
        let fault =
            "The recording has \(turn.recording.count) bytes, more than the \(limit.bytes) of all that are kept."
        turn.recording = StoreCoding.unrecordable(intent, fault) ?? turn.recording
        return turn
    }
}
