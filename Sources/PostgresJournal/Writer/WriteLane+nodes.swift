import Logging
import MVI
import PostgreSQL
import SessionJournal

/// What other processes are told, and what is noted of streams.
extension WriteLane {
    /// Tells others what was committed: outside the transaction, since a `NOTIFY` in it would let only one commit at a time,
    /// by one lane, and without a wait for the answer.
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

    /// Notes of different sessions' streams, as one transaction or, if that fails, each in one of its own.
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
