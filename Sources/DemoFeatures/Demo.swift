import Logging
import MVIServer
import SQLite
import ServiceLifecycle

/// The demo: six features, most of them on an embedded database that is filled on its first start, and a page
/// that shows them.
///
/// ```swift
/// let demo = try Demo(databasePath: "/var/lib/mvi-server/demo.sqlite", logger: logger)
/// try await FeatureServer(page: Demo.page, services: [demo]) { demo.features }.run()
/// ```
package struct Demo: Sendable {
    private let database: DemoDatabase
    private let logger: Logger

    /// Opens the database. If it is new, creates and fills it. Blocks meanwhile.
    ///
    /// - Parameters:
    ///   - databasePath: a file in an existing folder; nil keeps the data in memory until the process ends.
    ///   - conditions: the simulated latency and failures of the services.
    ///   - logger: receives the log lines of the features' observers and of failing services.
    /// - Throws: an error with a sentence for an operator if the file cannot be used.
    package init(
        databasePath: String?, conditions: DemoConditions = DemoConditions(), logger: Logger
    ) throws {
        self.logger = logger
        database = try DemoDatabase(
            databasePath.map { .file($0) } ?? .memory, conditions: conditions, logger: logger)
    }

    /// `counter`, `video-list`, `user-info`, `lesson-detail:<id>`, `order-detail:<id>`, and the shared `checklist:<key>`.
    @FeatureBuilder
    package var features: ServerContent {
        counter
        videoList
        userInfo
        Keyed(examples: Self.examples(of: database.lessonIDs)) { lessonDetail($0) }
        Keyed(examples: Self.examples(of: database.orderIDs)) { orderDetail($0) }
        Shared(examples: ["party"]) { _ in Checklist() }.allows(.everyone)
    }

    /// The first ids of the database in numeric order: a file of one's own may have others.
    private static func examples(of ids: Set<String>) -> [String] {
        ids.sorted { ($0.utf8.count, $0) < ($1.utf8.count, $1) }.prefix(2).map { $0 }
    }

    var counter: Counter { Counter(numbers: SQLiteNumbers(database: database)) }

    var videoList: VideoList { VideoList(videos: SQLiteVideos(database: database)) }

    var userInfo: UserInfo { UserInfo(users: SQLiteUsers(database: database)) }

    /// Returns nil if there is no such lesson. Answers from memory: a request's thread must not wait for the database.
    func lessonDetail(_ id: String) -> LessonDetail? {
        guard database.lessonIDs.contains(id) else { return nil }
        return LessonDetail(id: id, lessons: SQLiteLessons(database: database), logger: logger)
    }

    /// Returns nil if there is no such order. Answers from memory, like `lessonDetail`.
    func orderDetail(_ id: String) -> OrderDetail? {
        guard database.orderIDs.contains(id) else { return nil }
        return OrderDetail(id: id, orders: SQLiteOrders(database: database))
    }
}

extension Demo: Service {
    /// Waits for shutdown, then runs the waiting database calls and closes the database. Later calls of the features'
    /// services fail.
    package func run() async {
        // The database is closed after a cancellation too.
        try? await gracefulShutdown()
        await database.close()
    }
}
