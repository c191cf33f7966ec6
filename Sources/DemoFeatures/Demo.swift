import Logging
import MVIServer
import SQLite
import ServiceLifecycle

/// The demo: five features on an embedded database that is filled on its first start, and a page that shows them.
///
/// ```swift
/// let demo = try Demo(databasePath: "/var/lib/mvi-server/demo.sqlite", logger: logger)
/// try await FeatureServer(page: Demo.page, services: [demo]) { demo.features }.run()
/// ```
package struct Demo: Sendable {
    private let database: DemoDatabase
    private let logger: Logger

    /// Opens the database, and makes and fills it if it is new. Blocks while it does so.
    ///
    /// - Parameters:
    ///   - databasePath: a file, in a folder that is there; nil keeps the data in memory, until the process ends.
    ///   - conditions: how slow and unreliable the services pretend to be.
    ///   - logger: takes what the features' observers and failing services have to say.
    /// - Throws: an error with a sentence for an operator, if the file cannot be used.
    package init(
        databasePath: String?, conditions: DemoConditions = DemoConditions(), logger: Logger
    ) throws {
        self.logger = logger
        database = try DemoDatabase(
            databasePath.map { .file($0) } ?? .memory, conditions: conditions, logger: logger)
    }

    /// `counter`, `video-list`, `user-info`, `lesson-detail:<id>` and `order-detail:<id>`.
    @FeatureBuilder
    package var features: ServerContent {
        counter
        videoList
        userInfo
        Keyed(examples: Self.examples(of: database.lessonIDs)) { lessonDetail($0) }
        Keyed(examples: Self.examples(of: database.orderIDs)) { orderDetail($0) }
    }

    /// The first ids as people count them. Those of the database: a file of one's own may have others.
    private static func examples(of ids: Set<String>) -> [String] {
        ids.sorted { ($0.utf8.count, $0) < ($1.utf8.count, $1) }.prefix(2).map { $0 }
    }

    var counter: Counter { Counter(numbers: SQLiteNumbers(database: database)) }

    var videoList: VideoList { VideoList(videos: SQLiteVideos(database: database)) }

    var userInfo: UserInfo { UserInfo(users: SQLiteUsers(database: database)) }

    /// Nil if there is no such lesson. Answers at once, from memory: a request's thread must not wait for the database.
    func lessonDetail(_ id: String) -> LessonDetail? {
        guard database.lessonIDs.contains(id) else { return nil }
        return LessonDetail(id: id, lessons: SQLiteLessons(database: database), logger: logger)
    }

    /// Nil if there is no such order. Answers at once, like `lessonDetail`.
    func orderDetail(_ id: String) -> OrderDetail? {
        guard database.orderIDs.contains(id) else { return nil }
        return OrderDetail(id: id, orders: SQLiteOrders(database: database))
    }
}

extension Demo: Service {
    /// Waits for the end, then does what is asked of the database already and closes it. Later calls of the features'
    /// services fail.
    package func run() async {
        // The database is closed however the end comes.
        try? await gracefulShutdown()
        await database.close()
    }
}
