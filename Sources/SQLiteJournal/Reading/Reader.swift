import SQLite
import SessionJournal

/// The thread that reads, with a connection of its own: a reader of the log never waits for its writer, nor the writer
/// for it.
final class Reader {
    private let engine: Engine
    private var connection: Connection?
    /// Those that must see what the writer has not done yet.
    private var parked: [Read] = []

    init(_ engine: Engine) { self.engine = engine }

    func run() {
        while true {
            engine.reads.pauseIfAsked { connection = nil }
            let (new, isEnding) = engine.reads.take()
            // Before anything is read: what is done later may be missed.
            let ticket = engine.queue.doneTicket
            let ready = parked.filter { $0.needs <= ticket }
            parked.removeAll { $0.needs <= ticket }
            for read in ready { run(read, ticket) }
            for read in new {
                if read.needs <= ticket { run(read, ticket) } else { parked.append(read) }
            }
            guard ready.isEmpty, new.isEmpty else { continue }
            if parked.isEmpty {
                if isEnding { break }
            } else if !engine.queue.wakeReader(after: ticket) {
                continue
            }
            engine.reads.wait()
        }
        connection = nil
        engine.reads.hasEnded.signal()
    }

    private func run(_ read: Read, _ ticket: UInt64) {
        switch read.item {
        case .load(let token, let now, let done):
            let result = attempt { connection in try connection.load(token, now: now) }
            var session: SessionKey?
            if case .success(.found(let found)) = result { session = found.key }
            finish(read, ticket, session, token, result, done)
        case .stores(let features, let session, let done):
            let result = attempt { connection in try connection.stores(features, of: session) }
            finish(read, ticket, session, nil, result, done)
        case .export(let id, let done):
            let result = attempt { connection in try connection.export(id) }
            var session: SessionKey?
            if case .success(let export?) = result { session = export.session.key }
            finish(read, ticket, session, nil, result, done)
        }
    }

    /// Hands a result over, unless it could lack something or might turn out to be false.
    private func finish<Value: Sendable>(
        _ read: Read, _ ticket: UInt64, _ session: SessionKey?, _ token: TokenHash?,
        _ result: Result<Value, JournalFailure>, _ done: @escaping Done<Value>
    ) {
        if let session, !read.knowsSession {
            let needs = engine.queue.ticket(.session(session))
            if needs > ticket {
                var again = read
                again.needs = needs
                again.knowsSession = true
                return parked.append(again)
            }
        }
        engine.reads.finishedOne()
        let isInDoubt = engine.doubt.withLock { $0.touches(session, token) }
        let answer = isInDoubt ? .failure(.inDoubt) : result
        engine.deliver(session) { done(answer) }
    }

    private func attempt<Value>(_ body: (inout Connection) throws -> Value) -> Result<Value, JournalFailure> {
        do {
            var connection = try connection.take() ?? open()
            let value = try connection.transaction(.deferred, body)
            self.connection = consume connection
            return .success(value)
        } catch {
            // The connection is gone with the error: the next read opens the file anew, which may be another by then.
            return .failure(JournalFailure(error, at: engine.files.database))
        }
    }

    private func open() throws -> Connection {
        try engine.files.check()
        do { return try open(.readOnly) } catch let error as SQLiteError where error.code == .cannotOpen {
            // On a disk that may not be written there can be no index of the log. Nobody else writes either while the
            // writer cannot, and without a log all is in the database; when the writer can again, this is closed.
            let isInTrouble = engine.status.withLock { $0.trouble != nil }
            guard isInTrouble, (JournalFiles.size(of: engine.files.log) ?? 0) == 0 else { throw error }
            return try open(.immutable)
        }
    }

    private func open(_ access: Connection.Access) throws -> Connection {
        var connection = try Connection(.file(engine.files.database), access: access, busyTimeout: .seconds(1))
        try connection.takeOverCheckpoints()
        try connection.script("PRAGMA query_only = ON; PRAGMA cache_size = -8192; PRAGMA cell_size_check = ON")
        let latest = engine.options.migrations.count
        let version = try JournalDatabase.version(of: &connection, latest: latest, path: engine.files.database)
        guard version == latest else {
            throw JournalFailure(.unavailable, "The journal \(engine.files.database) has not been made yet.")
        }
        return connection
    }
}

extension JournalFailure {
    fileprivate static let inDoubt = JournalFailure(
        .unavailable, "The journal's disk failed while this session was written; what is kept of it is not known yet.")
}
