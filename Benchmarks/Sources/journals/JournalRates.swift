import Dispatch
import Locking
import Logging
import MVI
import PostgresJournal
import SQLiteJournal
import SessionJournal

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// `journals FOLDER DATABASE [TASKS] [SECONDS] [CONNECTIONS]` measures the committed appends per second of SQLite and
/// PostgreSQL, one after the other. FOLDER must not exist yet; DATABASE is a URL.
///
/// Each task has a session of its own and appends a state of 300 bytes after its last append was committed.
@main
struct JournalRates {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count >= 2 else {
            print("usage: journals FOLDER DATABASE [TASKS] [SECONDS] [CONNECTIONS]")
            return
        }
        let (folder, database) = (arguments[1], arguments[2])
        let tasks = arguments.count > 2 ? Int(arguments[3]) ?? 1_024 : 1_024
        let seconds = arguments.count > 3 ? Int(arguments[4]) ?? 5 : 5
        let connections = arguments.count > 4 ? Int(arguments[5]) ?? 2 : 2
        let logger = Logger(label: "journals")
        print("journal\ttasks\tappends/s\tp50 ms\tp99 ms\town µs\tappends a transaction")
        for round in 1...2 {
            let sqlite = try await SQLiteJournal.open(directory: "\(folder)/\(round)", logger: logger)
            let before = sqlite.statistics
            let result = try await rate(of: sqlite, tasks: tasks, seconds: seconds)
            let after = sqlite.statistics
            report(
                "SQLite", tasks, result, Double(after.appends - before.appends),
                after.transactions - before.transactions)
            await sqlite.close()

            let postgres = try await PostgresJournal.open(
                database: database, schema: "journal_rates_\(UInt32.random(in: 0 ... .max))",
                connections: connections, logger: logger)
            if let trouble = postgres.trouble { throw trouble }
            let start = postgres.statistics
            let shared = try await rate(of: postgres, tasks: tasks, seconds: seconds)
            let end = postgres.statistics
            report(
                "PostgreSQL", tasks, shared, Double(end.appends - start.appends), end.transactions - start.transactions)
            await postgres.close()
        }
    }

    private struct Rate {
        var perSecond: Double
        var latencies: [Duration]
        /// The processor time of this process for each append.
        var microseconds: Double
    }

    private static func report(
        _ name: String, _ tasks: Int, _ rate: Rate, _ appends: Double, _ transactions: Int
    ) {
        let sorted = rate.latencies.sorted()
        func percentile(_ part: Double) -> String {
            guard !sorted.isEmpty else { return "-" }
            let (seconds, attoseconds) = sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))].components
            return "\(Double(Int((Double(seconds) * 1e3 + Double(attoseconds) / 1e15) * 100)) / 100)"
        }
        let group = transactions == 0 ? 0 : Int(appends / Double(transactions))
        let (perSecond, own) = (Int(rate.perSecond), Int(rate.microseconds))
        print("\(name)\t\(tasks)\t\(perSecond)\t\(percentile(0.5))\t\(percentile(0.99))\t\(own)\t\(group)")
    }

    private static func rate(of journal: any Journal, tasks: Int, seconds: Int) async throws -> Rate {
        let state = [UInt8](repeating: UInt8(ascii: "x"), count: 300)
        let feature = FeatureID(name: "counter", key: nil)
        let sessions = try await withThrowingTaskGroup(of: SessionKey.self) { group in
            for _ in 0..<tasks {
                let record = SessionRecord(
                    id: "s\(UInt64.random(in: 0 ... .max))",
                    tokenHash: TokenHash((0..<32).map { _ in UInt8.random(in: 0...255) }), epoch: "e",
                    credential: .bearer, created: .seconds(1), lastSeen: .seconds(1))
                group.addTask { try await awaitResult { journal.create(record, done: $0) }.get() }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let start = ContinuousClock.now
        let ownTime = clock()
        let end = start + .seconds(seconds)
        let latencies = try await withThrowingTaskGroup(of: [Duration].self) { group in
            for session in sessions {
                group.addTask {
                    var head = SessionHead.empty
                    var latencies: [Duration] = []
                    while ContinuousClock.now < end {
                        let number = head.number + 1
                        let batch = JournalBatch(
                            session: session, expecting: head,
                            head: SessionHead(number: number, nonce: .random(in: .min ... .max)), time: .seconds(2),
                            stores: [
                                StoreChange(
                                    feature: feature, kind: number == 1 ? .made : .changed, number: number,
                                    version: number, made: 1, state: state, view: [UInt8]("{}".utf8))
                            ])
                        let began = ContinuousClock.now
                        let result = await awaitResult { done in
                            if let result = journal.append(batch, done: done) { done(result) }
                        }
                        guard case .committed = result else { throw JournalFailed(result: "\(result)") }
                        latencies.append(.now - began)
                        head = batch.head
                    }
                    return latencies
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let (whole, part) = (ContinuousClock.now - start).components
        return Rate(
            perSecond: Double(latencies.count) / (Double(whole) + Double(part) / 1e18), latencies: latencies,
            microseconds: Double(clock() - ownTime) / Double(CLOCKS_PER_SEC) * 1e6 / Double(max(1, latencies.count)))
    }
}

/// An append was not committed.
struct JournalFailed: Error {
    let result: String
}
