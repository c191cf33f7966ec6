import SQLite
import Testing

@testable import DemoFeatures

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Tests each repository with a real database.
@Suite struct RepositoryTests {
    private func makeDatabase(
        _ location: Connection.Location = .memory, conditions: DemoConditions = DemoConditions(),
        log: LogRecorder = LogRecorder()
    ) throws -> DemoDatabase {
        try DemoDatabase(location, conditions: conditions, logger: log.logger)
    }

    @Test func `each number comes once before any comes again`() async throws {
        let database = try makeDatabase()
        let numbers = SQLiteNumbers(database: database)
        var first: [Int] = []
        for _ in 0..<10 { first.append(try await numbers.next()) }
        #expect(Set(first).count == 10)
        #expect(try await numbers.next() == first[0])
        await database.close()
    }

    @Test func `there are at least twelve videos with complete data`() async throws {
        let database = try makeDatabase()
        let videos = try await SQLiteVideos(database: database).all()
        #expect(videos.count >= 12)
        #expect(videos.allSatisfy { !$0.title.isEmpty && !$0.speaker.isEmpty && $0.seconds > 600 })
        #expect(Set(videos.map(\.id)).count == videos.count)
        await database.close()
    }

    @Test func `a view is counted if its video exists`() async throws {
        let database = try makeDatabase()
        let videos = SQLiteVideos(database: database)
        let before = try await videos.views()
        #expect(try await videos.recordView(of: 3) == before + 1)
        #expect(try await videos.recordView(of: 99) == nil)
        #expect(try await videos.views() == before + 1)
        await database.close()
    }

    @Test func `a lesson has its venue and is in the future`() async throws {
        let database = try makeDatabase()
        let lesson = try #require(try await SQLiteLessons(database: database).lesson("8"))
        #expect(lesson.title == "Serve and volley")
        #expect(lesson.venue.name == "Canal Court")
        #expect(lesson.isEnrolled)
        #expect(lesson.startsAt.timeText == "09:30")
        #expect(try await SQLiteLessons(database: database).lesson("no such") == nil)
        await database.close()
    }

    @Test func `a place that is canceled twice is given back once`() async throws {
        let database = try makeDatabase()
        let lessons = SQLiteLessons(database: database)
        let before = try #require(try await lessons.lesson("7"))
        for isEnrolled in [false, false, true, true, false] {
            try await lessons.setEnrolled(isEnrolled, in: "7")
            let now = try #require(try await lessons.lesson("7"))
            #expect(now.isEnrolled == isEnrolled)
            #expect(now.freePlaces == before.freePlaces + (isEnrolled ? 0 : 1))
        }
        await #expect(throws: MissingRecord.self) { try await lessons.setEnrolled(false, in: "no such") }
        await database.close()
    }

    @Test func `a confirmation goes to the user's address`() async throws {
        let database = try makeDatabase()
        let lessons = SQLiteLessons(database: database)
        #expect(try await lessons.resendConfirmation(of: "7") == "ada@example.org")
        await #expect(throws: MissingRecord.self) { try await lessons.resendConfirmation(of: "no such") }
        await database.close()
    }

    @Test func `an order is read section by section`() async throws {
        let database = try makeDatabase()
        let orders = SQLiteOrders(database: database)
        #expect(try await orders.status(of: "42") == .received)
        #expect(try await orders.info(of: "42").customer == "Café Morgenrot")
        #expect(try await orders.fee(of: "42").lines.map(\.amount.cents) == [4_900, 1_850, 7_200])
        let scheduling = try await orders.scheduling(of: "42")
        #expect(scheduling.from.adding(minutes: 120) == scheduling.to)
        #expect(scheduling.technician == nil)
        await #expect(throws: MissingRecord.self) { try await orders.status(of: "no such") }
        await #expect(throws: MissingRecord.self) { try await orders.info(of: "no such") }
        await #expect(throws: MissingRecord.self) { try await orders.scheduling(of: "no such") }
        await database.close()
    }

    @Test func `a step is taken from the status in the database, not from a displayed one`()
        async throws
    {
        let database = try makeDatabase()
        let orders = SQLiteOrders(database: database)
        #expect(try await orders.take(.accept, in: "42") == .accepted)
        #expect(try await orders.scheduling(of: "42").technician == "Katrin Wolff")
        await #expect(throws: OrderStepRefused(status: .accepted)) { try await orders.take(.accept, in: "42") }
        #expect(try await orders.take(.cancel, in: "42") == .cancelled)
        #expect(try await orders.take(.reopen, in: "42") == .received)
        #expect(try await orders.scheduling(of: "42").technician == nil)
        await database.close()
    }

    @Test func `the signed-in user is the first`() async throws {
        let database = try makeDatabase()
        let user = try await SQLiteUsers(database: database).current()
        #expect(user.name == "Ada Bergström")
        #expect(user.joinedAt.monthText == "March 2021")
        await database.close()
    }

    @Test func `keys are known without a query`() throws {
        let demo = try Demo(databasePath: nil, logger: LogRecorder().logger)
        #expect(demo.lessonDetail("7")?.id == "7")
        #expect(demo.lessonDetail("99") == nil)
        #expect(demo.orderDetail("42")?.id == "42")
        #expect(demo.orderDetail("") == nil)
    }

    @Test func `the demo serves its six features until shutdown, and closes its database then`() async throws {
        let demo = try Demo(databasePath: nil, logger: LogRecorder().logger)
        #expect(demo.features.features.count == 6)
        let running = Task { await demo.run() }
        _ = try await demo.counter.numbers.next()
        running.cancel()
        await running.value
        await #expect(throws: DatabaseThreadError.closed) { try await demo.counter.numbers.next() }
    }

    @Test func `a simulated failure reaches the caller and the log`() async throws {
        let log = LogRecorder()
        let database = try makeDatabase(conditions: DemoConditions(failures: .every(2)), log: log)
        let users = SQLiteUsers(database: database)
        _ = try await users.current()
        await #expect(throws: DemoFailure.self) { try await users.current() }
        _ = try await users.current()
        #expect(
            log.entries == [
                "demo service failed error=the demo is configured to let some calls fail"
                    + " service=users.current"
            ])
        await database.close()
    }

    @Test func `a file is filled once and keeps its changes`() async throws {
        let path = "/tmp/demo-tests-\(UInt64.random(in: 0 ... .max)).sqlite"
        defer { unlink(path) }
        let first = try makeDatabase(.file(path))
        let views = try await SQLiteVideos(database: first).recordView(of: 1)
        await first.close()

        let second = try makeDatabase(.file(path))
        #expect(try await SQLiteVideos(database: second).views() == views)
        #expect(second.orderIDs == ["42", "43", "44", "45"])
        await second.close()
    }

    @Test func `a file of another version is refused with advice`() throws {
        let path = "/tmp/demo-tests-\(UInt64.random(in: 0 ... .max)).sqlite"
        defer { unlink(path) }
        do {
            var connection = try Connection(.file(path))
            try connection.script("PRAGMA user_version = 9")
        }
        let error = #expect(throws: UnknownSchema.self) { try makeDatabase(.file(path)) }
        #expect(error?.description.contains("move the file demo.sqlite away") == true)
    }

    @Test func `a file that is not a database is refused and left unchanged`() throws {
        let path = "/tmp/demo-tests-\(UInt64.random(in: 0 ... .max)).sqlite"
        defer { unlink(path) }
        let file = try #require(fopen(path, "w"))
        fputs(String(repeating: "this is somebody's letter\n", count: 100), file)
        fclose(file)
        let error = #expect(throws: SQLiteError.self) { try makeDatabase(.file(path)) }
        #expect(error?.code == .notADatabase)
    }
}
