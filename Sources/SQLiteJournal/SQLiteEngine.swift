import DequeModule
import Dispatch
import Locking
import Logging
import MVI
import SQLite
import SessionJournal

/// The state that the journal's threads share: the queues, and the writer's progress and status.
///
/// Each write gets a ticket. A read must see the earlier writes of the same session, so it waits for the ticket of the
/// last one. Sessions share a few thousand places in an array for these tickets, so a read sometimes waits for the
/// current transaction unnecessarily, and an append costs one store.
final class SQLiteEngine: Sendable {
    /// Work of the writer between transactions.
    typealias Job = @Sendable (Writer) -> Void

    /// The writer's status, which only the writer changes.
    struct Status {
        var trouble: StoreError?
        var statistics = JournalStatistics()
        var inDoubt = InDoubtCommits()
    }

    private struct State {
        var writes: Deque<SQLiteWrite> = []
        var jobs: [Job] = []
        var lastTicket: UInt64 = 0
        /// Tickets up to this one were committed or refused.
        var doneTicket: UInt64 = 0
        var unfinishedBytes = 0
        var sessionTickets = [UInt64](repeating: 0, count: 4_096)
        var tokenTickets = [UInt64](repeating: 0, count: 256)
        /// The number of writes that wake the writer; nil while it is awake.
        var wakeCount: Int?
        var isClosing = false

        var reads: Deque<SQLiteRead> = []
        var isReaderAsleep = false
        var isReaderEnding = false

        var status = Status()
        var hasEnded = false
        var endWaiters: [CheckedContinuation<Void, Never>] = []

        mutating func wakesReader() -> Bool {
            defer { isReaderAsleep = false }
            return isReaderAsleep
        }

        mutating func note(_ session: SessionKey) { sessionTickets[place(session)] = lastTicket }

        mutating func note(_ token: TokenHash) { tokenTickets[token.shard % tokenTickets.count] = lastTicket }

        func place(_ session: SessionKey) -> Int {
            Int(truncatingIfNeeded: session.number) & (sessionTickets.count - 1)
        }
    }

    let files: JournalFiles
    let options: JournalOptions
    let logger: Logger
    let completions: CompletionThreads
    let meter = Lock<(any JournalMeter)?>(nil)
    private let state = Lock(State())
    private let writer = DispatchSemaphore(value: 0)
    private let reader = DispatchSemaphore(value: 0)
    private let readerEnd = DispatchSemaphore(value: 0)

    init(folder: String, options: JournalOptions, logger: Logger) throws(DatabaseThreadError) {
        files = JournalFiles(folder: folder)
        (self.options, self.logger) = (options, logger)
        guard let threads = CompletionThreads(count: options.completionThreads) else { throw .noThread }
        completions = threads
    }

    var status: Status {
        get { state.withLock { $0.status } }
        set { state.withLock { $0.status = newValue } }
    }

    // MARK: Requests

    func write<Value: Sendable>(
        _ scope: Scope, _ done: @escaping Done<Value>,
        _ body: @escaping @Sendable (JournalDatabase) throws -> Result<Value, StoreError>
    ) {
        let write = SQLiteWrite(scope: scope) { database in
            let result = try body(database)
            return .other { done(result) }
        } fail: { error, _ in
            .other { done(.failure(error)) }
        }
        if let refusal = enqueue(write) { done(.failure(refusal)) }
    }

    /// Reads in one transaction after all earlier writes of a scope. Fails while the session's last commit is in doubt.
    ///
    /// - Parameters:
    ///   - isAccepted: True for the second half of an accepted read.
    ///   - session: Returns the session that was found, for a read that does not name one.
    func read<Value: Sendable>(
        after scope: Scope, isAccepted: Bool = false, _ done: @escaping Done<Value>,
        session: @escaping @Sendable (Value) -> SessionKey? = { _ in nil },
        _ body: @escaping @Sendable (inout Connection) throws -> Value
    ) {
        let read = SQLiteRead(needs: ticket(scope)) { [self] reader, seen in
            let result = reader.attempt(body)
            let found = (try? result.get()).flatMap(session) ?? scope.session
            // More may be enqueued for the session than for the token.
            if case .token = scope, let found, ticket(.session(found)) > seen {
                return self.read(after: .session(found), isAccepted: true, done, session: session, body)
            }
            let inDoubt = status.inDoubt
            let isInDoubt = inDoubt.contains(scope) || found.map { inDoubt.contains(.session($0)) } == true
            completions.enqueue(.other { done(isInDoubt ? .failure(.inDoubt) : result) }, of: found)
        }
        if let refusal = enqueue(read, isAccepted: isAccepted) { done(.failure(refusal)) }
    }

    func step(_ expiry: Expiry, _ done: @escaping Done<Int>) {
        step(SQLiteExpiry(expiry, tombstoneLimit: options.sessionLimit), done)
    }

    /// Runs the next step of an expiry in a later transaction, and then the others.
    private func step(_ expiry: SQLiteExpiry, _ done: @escaping Done<Int>) {
        let write = SQLiteWrite(scope: .all) { [self] database in
            var next = expiry
            try database.step(&next, until: .now + options.stepTime, sessions: options.stepSessions)
            let isClean = expiry.common.usedFor != nil || !next.hasReminders && !database.hasGarbage
            let (after, isOver) = (next, isClean && next.common.isOver)
            return .other { isOver ? done(.success(after.common.count)) : self.step(after, done) }
        } fail: { error, _ in
            .other { done(.failure(error)) }
        }
        if let refusal = enqueue(write) {
            done(expiry.common.count > 0 ? .success(expiry.common.count) : .failure(refusal))
        }
    }

    // MARK: Callers

    /// Enqueues a write, or returns the reason why it is refused.
    func enqueue(_ write: SQLiteWrite) -> StoreError? {
        let (refusal, wakes) = state.withLock { state -> (StoreError?, Bool) in
            if state.isClosing { return (.journalClosed, false) }
            if state.lastTicket - state.doneTicket >= options.waitingItems
                || state.unfinishedBytes > options.waitingBytes
            {
                return (.tooMuchWaits, false)
            }
            state.lastTicket += 1
            switch write.scope {
            case .session(let session), .removal(let session): state.note(session)
            case .sessions(let sessions): for session in sessions { state.note(session) }
            case .token(let token): state.note(token)
            case .tokens(let tokens, let session):
                for token in tokens { state.note(token) }
                if let session { state.note(session) }
            case .all, .any: break
            }
            state.unfinishedBytes += write.bytes
            var write = write
            write.ticket = state.lastTicket
            state.writes.append(write)
            guard let count = state.wakeCount, state.writes.count >= count else { return (nil, false) }
            state.wakeCount = nil
            return (nil, true)
        }
        if wakes { writer.signal() }
        return refusal
    }

    /// Enqueues a job for the writer, or returns the reason why it is refused.
    func enqueue(_ job: @escaping Job) -> StoreError? {
        let refusal = state.withLock { state -> StoreError? in
            if state.isClosing { return .journalClosed }
            state.jobs.append(job)
            state.wakeCount = nil
            return nil
        }
        writer.signal()
        return refusal
    }

    /// Enqueues a read, or returns the reason why it is refused. Reads that were accepted before are never refused.
    func enqueue(_ read: SQLiteRead, isAccepted: Bool) -> StoreError? {
        let (refusal, wakes) = state.withLock { state -> (StoreError?, Bool) in
            if state.isReaderEnding, !isAccepted { return (.journalClosed, false) }
            if state.reads.count >= options.waitingReads, !isAccepted { return (.tooManyReads, false) }
            state.reads.append(read)
            return (nil, state.wakesReader())
        }
        if wakes { reader.signal() }
        return refusal
    }

    /// Returns the ticket of a scope's last write.
    func ticket(_ scope: Scope) -> UInt64 {
        state.withLock { state in
            if case .token(let token) = scope { return state.tokenTickets[token.shard % state.tokenTickets.count] }
            return scope.session.map { state.sessionTickets[state.place($0)] } ?? state.lastTicket
        }
    }

    /// Refuses further writes.
    func close() {
        state.withLock { $0.isClosing = true }
        writer.signal()
    }

    var isClosing: Bool { state.withLock { $0.isClosing } }

    /// The number of enqueued and unfinished writes.
    var length: Int { state.withLock { Int($0.lastTicket - $0.doneTicket) } }

    // MARK: The writer

    /// Moves waiting writes to `pending` and returns the jobs and whether the queue is closed.
    func drain(into pending: inout Deque<SQLiteWrite>) -> (jobs: [Job], isClosing: Bool) {
        state.withLock { state in
            defer { state.jobs = [] }
            if pending.isEmpty { swap(&pending, &state.writes) } else { pending.append(contentsOf: state.writes) }
            state.writes.removeAll(keepingCapacity: true)
            return (state.jobs, state.isClosing)
        }
    }

    /// Waits until `count` writes or a job are enqueued, at most for `time`.
    func wait(for count: Int = 1, atMost time: Duration?) {
        let end: DispatchTime = time.map { .now() + .nanoseconds(Int(max(0, $0.nanoseconds))) } ?? .distantFuture
        repeat {
            let sleeps = state.withLock { state in
                if state.writes.count >= count || !state.jobs.isEmpty || state.isClosing { return false }
                state.wakeCount = count
                return true
            }
            guard sleeps else { return }
            // Signals that came while the writer was busy are counted, too.
        } while writer.wait(timeout: end) == .success
        state.withLock { $0.wakeCount = nil }
    }

    /// Marks tickets up to this one as finished, with their size in bytes.
    func finished(_ ticket: UInt64, bytes: Int) {
        let wakes = state.withLock { state in
            state.doneTicket = ticket
            state.unfinishedBytes -= bytes
            return !state.reads.isEmpty && state.wakesReader()
        }
        if wakes { reader.signal() }
    }

    /// Runs `body` while the reader has closed its files; it reopens them afterwards.
    ///
    /// Connections of one process share the log's index: if one opens it read-only, it is so for all.
    func withReaderPaused<Value>(_ body: () throws -> Value) rethrows -> Value {
        let (pauses, resumes) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let pause = SQLiteRead(needs: 0) { reader, _ in
            reader.connection = nil
            pauses.signal()
            resumes.wait()
        }
        state.withLock { $0.reads.prepend(pause) }
        reader.signal()
        pauses.wait()
        defer { resumes.signal() }
        return try body()
    }

    /// Ends the reader after its waiting reads, and waits for that.
    func endReader() {
        state.withLock { $0.isReaderEnding = true }
        reader.signal()
        readerEnd.wait()
    }

    // MARK: The reader

    /// Waits for a read and the writer's progress to its ticket. Returns nil after the last one.
    func nextRead() -> (SQLiteRead, ticket: UInt64)? {
        while true {
            let (read, ticket, isOver) = state.withLock { state -> (SQLiteRead?, UInt64, Bool) in
                let index = state.reads.firstIndex { $0.needs <= state.doneTicket }
                let isOver = state.isReaderEnding && state.reads.isEmpty
                state.isReaderAsleep = index == nil && !isOver
                return (index.map { state.reads.remove(at: $0) }, state.doneTicket, isOver)
            }
            if let read { return (read, ticket) }
            if isOver { return nil }
            reader.wait()
        }
    }

    func readerEnded() { readerEnd.signal() }

    // MARK: The end

    /// The threads' last step.
    func end() {
        completions.end()
        let waiters = state.withLock { state in
            state.hasEnded = true
            state.status.trouble = .journalClosed
            defer { state.endWaiters = [] }
            return state.endWaiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func waitForEnd() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.endWaiters.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }
}

extension StoreError {
    fileprivate static let tooMuchWaits = StoreError(
        .unavailable, "Too many writes wait for the journal; its disk does not keep up.")
    fileprivate static let tooManyReads = StoreError(
        .unavailable, "Too many sessions are being loaded; the journal's disk does not keep up.")
}
