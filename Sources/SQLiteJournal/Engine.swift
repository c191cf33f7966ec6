import Dispatch
import Locking
import Logging
import MVI
import SQLite
import SessionJournal

/// What the journal's threads share.
final class Engine: Sendable {
    /// What can be asked from any thread.
    private struct Status {
        var trouble: StoreError?
        var statistics = JournalStatistics()
        var inDoubt = InDoubtCommits()
        var hasEnded = false
        var endWaiters: [CheckedContinuation<Void, Never>] = []
    }

    let files: JournalFiles
    let options: JournalOptions
    let logger: Logger
    let completions: CompletionThreads
    let queue: JournalQueue
    private let status = Lock(Status())

    init(folder: String, options: JournalOptions, logger: Logger) throws(DatabaseThreadError) {
        files = JournalFiles(folder: folder)
        self.options = options
        self.logger = logger
        completions = try CompletionThreads(count: options.completionThreads)
        queue = JournalQueue(options)
    }

    var trouble: StoreError? {
        get { status.withLock { $0.trouble } }
        set { status.withLock { $0.trouble = newValue } }
    }

    var statistics: JournalStatistics {
        get { status.withLock { $0.statistics } }
        set { status.withLock { $0.statistics = newValue } }
    }

    var inDoubt: InDoubtCommits {
        get { status.withLock { $0.inDoubt } }
        set { status.withLock { $0.inDoubt = newValue } }
    }

    /// Reads in one transaction, after all writes of a scope that were enqueued before. The answer is a failure while the
    /// session is in doubt.
    ///
    /// - Parameters:
    ///   - isAccepted: whether it is the second half of a read that was accepted.
    ///   - session: the session that was found, for a read that does not name one.
    func read<Value: Sendable>(
        after scope: Scope, isAccepted: Bool = false, _ done: @escaping Done<Value>,
        session: @escaping @Sendable (Value) -> SessionKey? = { _ in nil },
        _ body: @escaping @Sendable (inout Connection) throws -> Value
    ) {
        let read = Read(needs: queue.ticket(scope)) { [self] reader, ticket in
            let result = reader.attempt(body)
            let found = (try? result.get()).flatMap(session) ?? scope.session
            // What was enqueued about the session may be more than what was about the token.
            if case .token = scope, let found, queue.ticket(.session(found)) > ticket {
                return self.read(after: .session(found), isAccepted: true, done, session: session, body)
            }
            let inDoubt = inDoubt
            let isInDoubt = inDoubt.contains(scope) || found.map { inDoubt.contains(.session($0)) } == true
            completions.enqueue(.other { done(isInDoubt ? .failure(.inDoubt) : result) }, of: found)
        }
        if let refusal = queue.enqueue(read, isAccepted: isAccepted) { done(.failure(refusal)) }
    }

    /// Takes the next step of an expiry in some transaction, and the others after it.
    func step(_ expiry: Expiry, _ done: @escaping Done<Int>) {
        let write = Write(scope: .all) { [self] database in
            var expiry = expiry
            try database.step(&expiry, until: .now + options.stepTime, sessions: options.stepSessions)
            let (next, isOver) = (expiry, !expiry.hasTombstones && !expiry.hasSessions && !database.hasGarbage)
            return .other { isOver ? done(.success(next.count)) : self.step(next, done) }
        } fail: { error, _ in
            .other { done(.failure(error)) }
        }
        if let refusal = queue.enqueue(write) {
            done(expiry.count > 0 ? .success(expiry.count) : .failure(refusal))
        }
    }

    /// The last step of the threads.
    func end() {
        completions.end()
        let waiters = status.withLock { status -> [CheckedContinuation<Void, Never>] in
            status.hasEnded = true
            status.trouble = .journalClosed
            defer { status.endWaiters = [] }
            return status.endWaiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func waitForEnd() async {
        await withCheckedContinuation { continuation in
            let hasEnded = status.withLock { status in
                if !status.hasEnded { status.endWaiters.append(continuation) }
                return status.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }
}
