import Logging
import MVI
import PostgreSQL
import SessionJournal

/// News for other processes, and notes of streams.
extension WriteLane {
    /// Sends news of commits, outside the transactions: a `NOTIFY` inside would serialize all commits. One lane sends
    /// them, without waiting for the response.
    func tellNews() {
        if index == engine.newsLane { news.add(engine.takeNews()) }
        guard let connection, !news.isEmpty else { return }
        guard index == engine.newsLane else {
            engine.leaveNews(news)
            news = OutgoingNews()
            return
        }
        let (channels, notify) = (engine.channels, engine.statements.notify)
        var statements = news.messages(from: channels.sender).map {
            PostgresStatement(notify, [.text(channels.news), .text($0.text)])
        }
        if news.hasBeat { statements.append(PostgresStatement(notify, [.text(channels.heartbeat), .text("")])) }
        news = OutgoingNews()
        do { try connection.post(statements, deadline: .now + engine.options.lockTime) } catch {
            _ = loseConnection(WriteFailure(error: error, isUnknown: false), [])
        }
    }

    /// Commits notes of different sessions' streams as one transaction or, if that fails, each in its own.
    func commit(streams writes: ArraySlice<Write>, attempt: Int = 1) -> [Outcome] {
        let notes = writes.compactMap { write -> StreamNote? in
            if case .streams(let note, _) = write.work { note } else { nil }
        }
        do {
            let results = try begin().commit(engine.statements.note(notes))
            engine.count { $0.transactions += 1 }
            let noted = Set(try results[1].map { row in try row.key(0) })
            return zip(writes, notes).map { write, note in
                guard case .streams(_, let done) = write.work else { preconditionFailure("not about streams") }
                return .over(.other { done(.success(noted.contains(note.session))) })
            }
        } catch {
            return afterFailure(error, of: writes, attempt: attempt) { commit(streams: $0, attempt: $1) }
        }
    }
}
