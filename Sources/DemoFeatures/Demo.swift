import Logging
import SQLite

/// The demo: a database that is filled on its first start, and the five features that read and write it.
struct Demo: Sendable {
    private let database: DemoDatabase
    private let logger: Logger

    init(_ location: Connection.Location, conditions: DemoConditions, logger: Logger) throws {
        self.logger = logger
        database = try DemoDatabase(location, conditions: conditions, logger: logger)
    }

    var counter: Counter { Counter(numbers: SQLiteNumbers(database: database)) }

    var videoList: VideoList { VideoList(videos: SQLiteVideos(database: database)) }

    var userInfo: UserInfo { UserInfo(users: SQLiteUsers(database: database)) }

    /// Nil if there is no such lesson. Answers at once, from memory.
    func lessonDetail(_ id: String) -> LessonDetail? {
        guard database.lessonIDs.contains(id) else { return nil }
        return LessonDetail(id: id, lessons: SQLiteLessons(database: database), logger: logger)
    }

    /// Nil if there is no such order. Answers at once, from memory.
    func orderDetail(_ id: String) -> OrderDetail? {
        guard database.orderIDs.contains(id) else { return nil }
        return OrderDetail(id: id, orders: SQLiteOrders(database: database))
    }

    /// Does what is asked already and closes the database. Later calls of the features' services fail.
    func close() async { await database.close() }
}
