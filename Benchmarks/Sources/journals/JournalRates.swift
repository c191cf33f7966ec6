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

/// `journals PLACE [TASKS] [SECONDS] [CONNECTIONS]` measures the committed appends per second of a journal, and prints them
/// as JSON: of SQLite in the folder PLACE, which must not exist yet, or of PostgreSQL if PLACE is a URL.
///
/// Each task has a session of its own and appends a state of 300 bytes after its last append was committed.
@main
struct JournalRates {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard let place = arguments.first else {
            print("usage: journals PLACE [TASKS] [SECONDS] [CONNECTIONS]")
            return
        }
        let numbers = arguments.dropFirst().compactMap { Int($0) } + [1_024, 5, 2].dropFirst(arguments.count - 1)
        let (tasks, seconds, connections) = (numbers[0], numbers[1], numbers[2])
        let logger = Logger(label: "journals")
        if place.contains("://") {
            let journal = try await PostgresJournal.open(
                database: place, schema: "journal_rates", connections: connections, logger: logger)
            if let trouble = journal.trouble { throw trouble }
            let before = journal.statistics
            let result = try await rate(of: journal, tasks: tasks, seconds: seconds)
            let after = journal.statistics
            report(result, after.appends - before.appends, after.transactions - before.transactions)
            await journal.close()
        } else {
            let journal = try await SQLiteJournal.open(directory: place, logger: logger)
            let before = journal.statistics
            let result = try await rate(of: journal, tasks: tasks, seconds: seconds)
            let after = journal.statistics
            report(result, after.appends - before.appends, after.transactions - before.transactions)
            await journal.close()
        }
    }

    private struct Rate {
        var perSecond: Double
        var latencies: [Duration]
        /// The processor time of this process for each append.
        var microseconds: Double
    }

    private static func report(_ rate: Rate, _ appends: Int, _ transactions: Int) {
        let sorted = rate.latencies.sorted()
        func milliseconds(_ part: Double) -> Double {
            guard !sorted.isEmpty else { return 0 }
            let (seconds, attoseconds) = sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))].components
            return Double(Int((Double(seconds) * 1e3 + Double(attoseconds) / 1e15) * 100)) / 100
        }
        print(
            """
            {"appendsPerSecond":\(Int(rate.perSecond)),"p50":\(milliseconds(0.5)),"p99":\(milliseconds(0.99)),\
            "ownMicroseconds":\(Int(rate.microseconds)),"appendsATransaction":\(appends / max(transactions, 1)),"passed":true}
            """)
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
