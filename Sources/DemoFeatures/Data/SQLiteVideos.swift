import SQLite

struct SQLiteVideos: VideoRepository {
    let database: DemoDatabase

    func all() async throws -> [Video] {
        try await database.call("videos.all") { connection in
            try connection.query("SELECT id, title, speaker, conference, seconds, slug FROM videos ORDER BY id") {
                row in
                Video(
                    id: try row.int(0), title: try row.text(1), speaker: try row.text(2),
                    conference: try row.text(3), seconds: try row.int(4), slug: try row.text(5))
            }
        }
    }

    func views() async throws -> Int {
        try await database.call("videos.views") { connection in try Self.views(&connection) }
    }

    func recordView(of id: Int) async throws -> Int? {
        try await database.call("videos.recordView") { connection in
            try connection.transaction { connection in
                let changed = try connection.execute(
                    "UPDATE videos SET views = views + 1 WHERE id = ?", [.integer(id)])
                return changed == 0 ? nil : try Self.views(&connection)
            }
        }
    }

    private static func views(_ connection: inout Connection) throws -> Int {
        try connection.first("SELECT coalesce(sum(views), 0) FROM videos") { row in try row.int(0) } ?? 0
    }
}
