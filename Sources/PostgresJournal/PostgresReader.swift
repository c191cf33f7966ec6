import Logging
import MVI
import PostgreSQL
import SessionJournal

/// A thread that reads on its own connection. Any reader takes any read; meanwhile the next ones gather.
final class PostgresReader {
    private let engine: PostgresEngine
    private var connection: PostgresConnection?

    init(_ engine: PostgresEngine) { self.engine = engine }

    /// The thread's main function.
    func run() {
        while let (reads, seen) = engine.nextReads() {
            if case .alone(let read)? = reads.first?.value { read(self) } else { answer(reads.map(\.value), seen) }
            engine.finish(reads.map(\.id), reads: reads.count)
        }
        connection = nil
        engine.threadEnded()
    }

    // MARK: Questions

    /// Asks all in one transaction, with one statement for each kind. If that fails, asks each alone. If the database is
    /// silent, refuses also those that wait, which would wait as long again.
    private func answer(_ reads: [Read], _ seen: UInt64) {
        var asked: [Question] = []
        for case .question(let question, _) in reads { asked.append(question) }
        let questions = Questions(asked, engine.statements)
        let begun = ContinuousClock.now
        let answers = attempt(questions.statements, silence: engine.options.silentTime) { results in
            try questions.answers(results)
        }
        if case .failure(let error) = answers, error.code != .unavailable || connection != nil, reads.count > 1 {
            for read in reads { answer([read], seen) }
            return
        }
        if case .failure(let error) = answers, connection == nil, begun.duration(to: .now) >= engine.options.silentTime
        {
            let waiting = engine.takeQuestions()
            for case .question(_, let done) in waiting.map(\.value) { done(.failure(error), seen) }
            engine.finish(waiting.map(\.id), reads: waiting.count)
        }
        for (place, read) in reads.enumerated() {
            guard case .question(_, let done) = read else { continue }
            done(answers.map { $0[place] }, seen)
        }
    }

    // MARK: Transactions

    /// Reads in one transaction, whose statements see one snapshot. `silence` is the longest time without a byte; nil for
    /// the whole transaction's.
    func attempt<Value>(
        _ statements: [PostgresStatement], silence: Duration? = nil,
        _ body: (ArraySlice<PostgresRows>) throws -> Value
    ) -> Result<Value, StoreError> {
        let (isNew, begun) = (connection == nil, ContinuousClock.now)
        do { return .success(try read(statements, silence, body)) } catch {
            // An idle connection may have been closed, and the database may have been replaced behind it. A silent one
            // would be silent again.
            let isSilent = silence.map { begun.duration(to: .now) >= $0 } ?? false
            if !isNew, connection == nil, !isSilent, let again = try? read(statements, silence, body) {
                return .success(again)
            }
            return .failure(StoreError(error, at: engine.place))
        }
    }

    private func read<Value>(
        _ statements: [PostgresStatement], _ silence: Duration?, _ body: (ArraySlice<PostgresRows>) throws -> Value
    ) throws -> Value {
        let options = engine.options
        let connection = try connection ?? open()
        connection.longestSilence = silence
        let begin = [
            PostgresStatement("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"),
            PostgresStatement(
                engine.statements.readGuard,
                [
                    .milliseconds(options.statementTime), .milliseconds(options.lockTime),
                    .milliseconds(options.idleTransactionTime), .milliseconds(options.readTime),
                ]),
        ]
        let results: [PostgresRows]
        do throws(PipelineFailure) {
            results = try connection.run(
                begin + statements + [PostgresStatement("COMMIT")], deadline: .now + options.readTime
            ).rows
        } catch {
            if error.error.isOfDatabase {
                self.connection = nil
                engine.count { $0.connectionsLost += 1 }
            } else if (try? connection.run([PostgresStatement("ROLLBACK")], deadline: .now + options.lockTime)) == nil {
                self.connection = nil
            }
            throw error
        }
        return try body(results[begin.count..<(results.count - 1)])
    }

    /// Connects, and notes a change of the database: readers reach a new primary before writers do.
    private func open() throws -> PostgresConnection {
        let options = engine.options
        let made = try PostgresConnection(engine.target, deadline: .now + options.connectTime)
        engine.count { $0.connections += 1 }
        try DatabaseSetup(made, engine: engine, deadline: .now + options.transactionTime).prepare()
        connection = made
        return made
    }
}

/// Questions that are asked together.
private struct Questions {
    private enum Part {
        case marks([Int])
        case known([Int])
        case stores([Int])
        case sessions([Int], SessionReads)
    }

    let statements: [PostgresStatement]
    private let parts: [Part]
    private let count: Int

    init(_ questions: [Question], _ sql: Statements) {
        var marks: [(Int, [SessionKey])] = []
        var known: [(Int, [TokenHash])] = []
        var stores: [(Int, StoresQuestion)] = []
        var tokens: [(Int, TokenHash)] = []
        var news: [(Int, (session: SessionKey, number: UInt64))] = []
        for (place, question) in questions.enumerated() {
            switch question {
            case .marks(let sessions): marks.append((place, sessions))
            case .known(let hashes): known.append((place, hashes))
            case .stores(let asked): stores.append((place, asked))
            case .token(let token): tokens.append((place, token))
            case .news(let session, let since): news.append((place, (session, since)))
            }
        }
        var parts: [(Part, [PostgresStatement])] = []
        if !marks.isEmpty { parts.append((.marks(marks.map(\.0)), [sql.marks(marks.map(\.1))])) }
        if !known.isEmpty { parts.append((.known(known.map(\.0)), [sql.known(known.map(\.1))])) }
        if !stores.isEmpty {
            parts.append((.stores(stores.map(\.0)), [SessionReads.stores(sql, stores.map(\.1))]))
        }
        for (places, reads) in [
            (tokens.map(\.0), SessionReads(sql, tokens: tokens.map(\.1))),
            (news.map(\.0), SessionReads(sql, since: news.map(\.1))),
        ] where !places.isEmpty { parts.append((.sessions(places, reads), reads.statements)) }
        self.parts = parts.map(\.0)
        statements = parts.flatMap(\.1)
        count = questions.count
    }

    /// Returns the answers in the order of the questions.
    func answers(_ results: ArraySlice<PostgresRows>) throws -> [ReadAnswer] {
        var answers = [ReadAnswer](repeating: ReadAnswer(), count: count)
        var rest = results
        for part in parts {
            switch part {
            case .marks(let places), .known(let places), .stores(let places):
                for row in rest.popFirst()?.rows ?? [] {
                    let place = Int(try row.int8(row.count - 1))
                    guard places.indices.contains(place) else {
                        throw StoreError.unexpected("place \(place)", "a question")
                    }
                    answers[places[place]].rows.append(row)
                }
            case .sessions(let places, let reads):
                let taken = rest.prefix(reads.statements.count)
                rest = rest.dropFirst(taken.count)
                for (place, results) in zip(places, try reads.results(taken)) { answers[place].session = results }
            }
        }
        return answers
    }
}
