import DequeModule
import Dispatch
import Locking
import MVI
import SessionJournal

/// What waits for the writer and for the reader, and how far the writer is.
///
/// Each write gets a ticket, one after the other. A read must see what was enqueued before it for the same session, so it
/// waits for the ticket of the last such write; sessions share some thousand places for that, which costs a read now
/// and then a needless wait for the transaction under way, and an append one store into an array.
final class JournalQueue: Sendable {
    struct Waiting: Sendable {
        let write: Write
        let ticket: UInt64
    }

    private struct State {
        var writes: Deque<Waiting> = []
        var lastTicket: UInt64 = 0
        /// Everything up to it was done or refused.
        var doneTicket: UInt64 = 0
        var unfinishedBytes = 0
        var sessionTickets = [UInt64](repeating: 0, count: 4_096)
        var tokenTickets = [UInt64](repeating: 0, count: 256)
        /// How many writes wake the writer; nil while it is awake.
        var wakeCount: Int?
        var backups: [BackupRequest] = []
        var isClosing = false

        var reads: Deque<Read> = []
        var isReaderAsleep = false
        var isReaderPausing = false
        var isReaderEnding = false

        mutating func wakesReader() -> Bool {
            defer { isReaderAsleep = false }
            return isReaderAsleep
        }
    }

    /// What the reader is to do next.
    enum ReaderStep {
        case read(Read, ticket: UInt64)
        case pause
        case end
    }

    private let state = Lock(State())
    private let options: JournalOptions
    private let writer = DispatchSemaphore(value: 0)
    private let reader = DispatchSemaphore(value: 0)
    private let readerPauses = DispatchSemaphore(value: 0)
    private let readerResumes = DispatchSemaphore(value: 0)

    init(_ options: JournalOptions) { self.options = options }

    // MARK: Callers

    /// Takes a write; says why if it does not.
    func enqueue(_ write: Write) -> StoreError? {
        let (refusal, wakes) = state.withLock { state -> (StoreError?, Bool) in
            if state.isClosing { return (.journalClosed, false) }
            if state.lastTicket - state.doneTicket >= options.waitingItems
                || state.unfinishedBytes > options.waitingBytes
            {
                return (.tooManyWrites, false)
            }
            state.lastTicket += 1
            Self.note(write.scope, state.lastTicket, &state)
            state.unfinishedBytes += write.bytes
            state.writes.append(Waiting(write: write, ticket: state.lastTicket))
            guard let count = state.wakeCount, state.writes.count >= count else { return (nil, false) }
            state.wakeCount = nil
            return (nil, true)
        }
        if wakes { writer.signal() }
        return refusal
    }

    /// Takes a request for a backup; says why if it does not.
    func enqueue(_ backup: BackupRequest) -> StoreError? {
        let refusal = state.withLock { state -> StoreError? in
            if state.isClosing { return .journalClosed }
            state.backups.append(backup)
            state.wakeCount = nil
            return nil
        }
        writer.signal()
        return refusal
    }

    /// Takes a read; says why if it does not. One that was accepted before is.
    func enqueue(_ read: Read, isAccepted: Bool) -> StoreError? {
        let (refusal, wakes) = state.withLock { state -> (StoreError?, Bool) in
            if state.isReaderEnding, !isAccepted { return (.journalClosed, false) }
            if state.reads.count >= options.waitingReads, !isAccepted { return (.tooManyReads, false) }
            state.reads.append(read)
            return (nil, state.wakesReader())
        }
        if wakes { reader.signal() }
        return refusal
    }

    /// The ticket of the last write of a scope.
    func ticket(_ scope: Scope) -> UInt64 {
        state.withLock { state in
            if case .token(let token) = scope { return state.tokenTickets[token.shard % state.tokenTickets.count] }
            return scope.session.map { state.sessionTickets[Self.place($0, state)] } ?? state.lastTicket
        }
    }

    /// Refuses writes from now on.
    func close() {
        state.withLock { $0.isClosing = true }
        writer.signal()
    }

    var isClosing: Bool { state.withLock { $0.isClosing } }

    /// How many writes were enqueued and are not done.
    var length: Int { state.withLock { Int($0.lastTicket - $0.doneTicket) } }

    // MARK: The writer

    /// Moves what waits to `pending` and returns the backups; says whether there comes no more.
    func take(_ pending: inout Deque<Waiting>) -> (backups: [BackupRequest], isClosing: Bool) {
        state.withLock { state in
            defer { state.backups = [] }
            if pending.isEmpty { swap(&pending, &state.writes) } else { pending.append(contentsOf: state.writes) }
            state.writes.removeAll(keepingCapacity: true)
            return (state.backups, state.isClosing)
        }
    }

    /// Waits until so many writes were enqueued, at most for a time.
    func wait(for count: Int = 1, atMost time: Duration?) {
        let sleeps = state.withLock { state in
            if state.writes.count >= count || !state.backups.isEmpty || state.isClosing { return false }
            state.wakeCount = count
            return true
        }
        guard sleeps else { return }
        if let time {
            _ = writer.wait(timeout: .now() + .nanoseconds(Int(max(0, time.nanoseconds))))
            state.withLock { $0.wakeCount = nil }
        } else {
            writer.wait()
        }
    }

    /// Notes that everything up to a ticket is done, so many bytes of it.
    func finished(_ ticket: UInt64, bytes: Int) {
        let wakes = state.withLock { state in
            state.doneTicket = ticket
            state.unfinishedBytes -= bytes
            return !state.reads.isEmpty && state.wakesReader()
        }
        if wakes { reader.signal() }
    }

    /// Runs `body` while the reader has let go of its files, which it opens anew afterwards.
    ///
    /// Connections of one process share the log's index: opened for reading only by one, it is so for all.
    func withReaderPaused<Value>(_ body: () throws -> Value) rethrows -> Value {
        state.withLock { $0.isReaderPausing = true }
        reader.signal()
        readerPauses.wait()
        defer { readerResumes.signal() }
        return try body()
    }

    /// Ends the reader when it has done what waits, and waits for that.
    func endReader() {
        state.withLock { $0.isReaderEnding = true }
        reader.signal()
        readerPauses.wait()
    }

    // MARK: The reader

    /// Waits for something to do.
    func nextReaderStep() -> ReaderStep {
        while true {
            let step = state.withLock { state -> ReaderStep? in
                if state.isReaderPausing {
                    state.isReaderPausing = false
                    return .pause
                }
                if let index = state.reads.firstIndex(where: { $0.needs <= state.doneTicket }) {
                    return .read(state.reads.remove(at: index), ticket: state.doneTicket)
                }
                if state.isReaderEnding, state.reads.isEmpty { return .end }
                state.isReaderAsleep = true
                return nil
            }
            if let step { return step }
            reader.wait()
        }
    }

    /// The reader has let go of its files; returns when it may open them again.
    func pauseReader() {
        readerPauses.signal()
        readerResumes.wait()
    }

    func readerEnded() { readerPauses.signal() }

    // MARK: Tickets

    private static func note(_ scope: Scope, _ ticket: UInt64, _ state: inout State) {
        switch scope {
        case .session(let session), .removal(let session): state.sessionTickets[place(session, state)] = ticket
        case .sessions(let sessions):
            for session in sessions { state.sessionTickets[place(session, state)] = ticket }
        case .token(let token): state.tokenTickets[token.shard % state.tokenTickets.count] = ticket
        case .all: break
        }
    }

    private static func place(_ session: SessionKey, _ state: State) -> Int {
        Int(truncatingIfNeeded: session.number) & (state.sessionTickets.count - 1)
    }
}

extension StoreError {
    static let tooManyWrites = StoreError(
        .unavailable, "Too much waits for the journal already; its disk does not keep up.")
    fileprivate static let tooManyReads = StoreError(
        .unavailable, "Too many sessions are being loaded; the journal's disk does not keep up.")
}
