/// The writing thread of a stream and the notes for it: the pure part of `StreamHandle`.
///
/// One thread at a time is the runner: it owns the socket, the source and the `Work` that it took. Other threads leave
/// a note and return. The runner rests only without notes, which is decided under the same lock.
struct StreamWriterState {
    /// The work that the runner takes and puts back.
    struct Work {
        /// Framed bytes that the kernel has not accepted yet; at most one step's.
        var leftover: ArraySlice<UInt8> = []
        /// True if the stream ends after the leftover.
        var finishing = false
        /// True if `close` was called.
        var closing = false
        /// The number of dropped bytes from the client.
        var discarded = 0

        fileprivate var isBlank: Bool { leftover.isEmpty && !finishing && !closing && discarded == 0 }
    }

    /// Notes for the runner.
    struct Notes: OptionSet {
        let rawValue: UInt8
        /// The source may have more.
        static let more = Notes(rawValue: 1)
        static let writable = Notes(rawValue: 2)
        static let readable = Notes(rawValue: 4)
        static let heartbeat = Notes(rawValue: 8)
        static let close = Notes(rawValue: 16)
    }

    /// Stored outside the state, since an idle stream has none.
    private indirect enum Kept { case work(Work) }

    private enum Phase { case idle, running, blocked, closed }

    /// The runner's next work, taken under the lock.
    struct Turn {
        var source: any StreamSource
        var work: Work
        var notes: Notes
        var end: StreamEnd?
    }

    /// The reactor's number for the stream.
    var id: UInt64 = 0
    private var phase = Phase.running
    private var notes: Notes = []
    private var end: StreamEnd?
    private(set) var source: (any StreamSource)?
    /// The work of the next turn; nil if there is none, as in an idle stream.
    private var kept: Kept?
    /// The last time at which the kernel accepted bytes.
    private var lastWrite: UInt64

    /// The creator is the first runner.
    init(source: any StreamSource, now: UInt64) {
        self.source = source
        lastWrite = now
    }

    /// Leaves a note. Returns true if the caller is the runner now.
    mutating func leave(_ note: Notes) -> Bool {
        switch phase {
        case .closed: return false
        case .running:
            notes.formUnion(note)
            return false
        case .blocked:
            notes.formUnion(note)
            guard !note.isDisjoint(with: [.writable, .readable]) else { return false }
            phase = .running
            return true
        case .idle:
            // Room in the socket is irrelevant to a stream with nothing to write.
            guard note != .writable else { return false }
            notes.formUnion(note)
            phase = .running
            return true
        }
    }

    /// Requests the end; the first reason counts. Returns true if the caller is the runner now.
    mutating func demandEnd(_ reason: StreamEnd) -> Bool {
        guard phase != .closed else { return false }
        end = end ?? reason
        guard phase != .running else { return false }
        phase = .running
        return true
    }

    /// Takes the runner's next work.
    mutating func beginTurn() -> Turn {
        guard phase == .running, let source else { preconditionFailure("cannot take a turn when \(phase)") }
        defer { (notes, kept) = ([], nil) }
        let work = if case .work(let work)? = kept { work } else { Work() }
        return Turn(source: source, work: work, notes: notes, end: end)
    }

    /// Puts the work back and keeps the role, which another thread takes over.
    mutating func put(_ work: Work) {
        guard phase == .running else { preconditionFailure("cannot put work back when \(phase)") }
        kept = work.isBlank ? nil : .work(work)
    }

    /// Lets the runner rest. Returns false if a note arrived, and it must take another turn.
    mutating func rest(_ work: Work, wroteAt time: UInt64?) -> Bool {
        guard phase == .running else { preconditionFailure("cannot rest when \(phase)") }
        kept = work.isBlank ? nil : .work(work)
        if let time { lastWrite = time }
        let isBlocked = !work.leftover.isEmpty
        // Notes that need a writable socket wait for it.
        let urgent = isBlocked ? notes.intersection([.writable, .readable]) : notes
        guard urgent.isEmpty, end == nil else { return false }
        phase = isBlocked ? .blocked : .idle
        return true
    }

    /// Ends the stream for good.
    mutating func close() {
        guard phase == .running else { preconditionFailure("cannot close when \(phase)") }
        phase = .closed
        source = nil
        kept = nil
    }

    /// The result of a timer check.
    enum TimerAction: Equatable {
        /// The stream is closed.
        case none
        /// Check again at this time.
        case later(UInt64)
        /// The caller is the runner now; check again at this time.
        case run(UInt64)
    }

    /// Checks the heartbeat and the write deadline.
    mutating func timeReached(_ now: UInt64, heartbeat: UInt64, writeDeadline: UInt64) -> TimerAction {
        switch phase {
        case .closed: return .none
        case .running: return .later(now + min(heartbeat, writeDeadline))
        case .blocked:
            let deadline = lastWrite + writeDeadline
            guard now >= deadline else { return .later(deadline) }
            end = end ?? .writeDeadline
        case .idle:
            let due = lastWrite + heartbeat
            guard now >= due else { return .later(min(due, now + writeDeadline)) }
            notes.insert(.heartbeat)
            // Repeats after an interval, also if the source returns no bytes.
            lastWrite = now
        }
        phase = .running
        return .run(now + min(heartbeat, writeDeadline))
    }
}
