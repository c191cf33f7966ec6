import MVI
import SQLite
import ServiceLifecycle

/// Writes the mails that tickets tell it into the database of a mail program, in order, and each once.
struct Outbox: Feature {
    struct Mail: Codable, Equatable, Sendable { let id, ticket, to, text: String }
    struct State: Codable, Equatable, Sendable { var jobs: [Action] = [] }
    typealias Intent = Never
    enum Action: Codable, Equatable, Sendable { case mail(Mail), forget(ticket: String), write }
    enum Message: Codable, Equatable, Sendable { case added(Action), done }

    let initialState = State()
    let mails: Mails

    func perform(_ action: Action, _ turn: inout Turn<Self>) {
        if action != .write { turn.dispatch(.added(action)) }
        guard !turn.state.jobs.isEmpty else { return }
        // For a write that failed, and for a server that ended before it.
        turn.remind(id: "write", after: .seconds(60), .write)
        turn.launch(id: "write", policy: .queue) { [mails] work in
            while let job = work.state.jobs.first {
                try await work.retry(attempts: 5) { try await mails.write(job) }
                await work.dispatch(.done)
            }
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .added(let job): state.jobs.append(job)
        case .done: state.jobs.removeFirst()
        }
    }
}

/// The database of a mail program, which sends what is not sent and notes it.
struct Mails: Service {
    let thread: DatabaseThread

    /// Blocks while the database is opened.
    init(_ location: Connection.Location) throws {
        var connection = try Connection(location)
        try connection.script(
            """
            PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON;
            CREATE TABLE IF NOT EXISTS mails (
                id TEXT PRIMARY KEY, ticket TEXT NOT NULL, receiver TEXT NOT NULL, text TEXT NOT NULL,
                sent INTEGER NOT NULL DEFAULT 0);
            """)
        thread = try DatabaseThread(owning: connection)
    }

    func write(_ job: Outbox.Action) async throws {
        try await thread.perform { connection in
            if case .mail(let mail) = job {
                try connection.execute(
                    "INSERT INTO mails (id, ticket, receiver, text) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
                    [.text(mail.id), .text(mail.ticket), .text(mail.to), .text(mail.text)])
            } else if case .forget(let ticket) = job {
                try connection.execute("DELETE FROM mails WHERE ticket = ?", [.text(ticket)])
            }
        }
    }

    func run() async throws {
        // Also if the shutdown takes too long, and is canceled.
        try? await gracefulShutdown()
        await thread.close()
    }
}
