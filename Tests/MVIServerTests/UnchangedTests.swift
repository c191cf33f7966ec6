import Foundation
import Locking
import Logging
import MVI
import MVITesting
import SQLite
import SQLiteJournal
import Sessions
import TestSupport
import Testing

@testable import MVIServer

/// Compares what a server without shared features writes with what it wrote before there were shared stores: the files in
/// Tests/BeforeShared are what these tests found in the commit 1564fab8. What is random has the same length each time, and
/// is replaced.
@Suite("90: without shared features nothing changed", .timeLimit(.minutes(10)))
struct UnchangedTests {
    private let replaced = Lock<[(text: String, name: String)]>([])

    @Test func `streams over a socket have the same bytes`() async throws {
        let folder = TemporaryFolder()
        let text = try await run(in: folder) { server in
            let session = try await session(server)
            for feature in ["probe", "item:3"] {
                _ = try await server.send(session.request("GET", "/features/\(feature)/state"))
            }
            let live = try await stream(server, session, "/events?feature=probe&feature=item:3")
            _ = try await read(live, through: #""weight":1}}"#)
            for (number, body, shown) in [
                (1, #"{"type":"add","amount":5}"#, #""count":5,"isLoading":false,"text":"","ratio":0}}"#),
                (2, #"{"type":"say","text":"a\nb"}"#, #""label":{"type":"said","text":"a\nb"}}"#),
                (3, #"{"type":"increment"}"#, #""count":6,"isLoading":false,"text":"","ratio":0}}"#),
            ] {
                _ = try await server.send(session.intent(body, [("Idempotency-Key", "key-\(number)")]))
                _ = try await read(live, through: shown)
            }
            _ = try await server.send(session.request("DELETE", "/features/item:3/state"))
            var text = try await read(live, through: "event: end\ndata: {\"feature\":\"item:3\"}\n\n\r\n")

            let cursor = try #require(text.firstMatch(of: #/id: (\S+)/#)?.1)
            let resumed = try await stream(
                server, session, "/features/probe/events?delta=json-patch", [("Last-Event-ID", String(cursor))])
            _ = try await read(resumed, through: #""label":{"type":"said","text":"a\nb"}}"#)
            _ = try await server.send(
                session.intent(#"{"type":"grow","bytes":500}"#, [("Idempotency-Key", "key-4")]))
            _ = try await read(resumed, through: #""intent":"key-4""#)
            _ = try await server.send(session.intent(#"{"type":"increment"}"#, [("Idempotency-Key", "key-5")]))
            text += try await read(
                resumed, through: #""patch":[{"op":"replace","path":"/count","value":7}]}"# + "\n\n\r\n")

            let lost = try await stream(server, session, "/events?last_event_id=garbage.1")
            _ = try await read(lost, through: #""ratio":0}}"#)
            _ = try await server.send(session.request("DELETE", "/sessions/current"))
            return text + (try await read(lost, through: "0\r\n\r\n"))
        }
        try compare(text, "streams.txt")
    }

    @Test func `a SQLite journal has the same rows`() async throws {
        let folder = TemporaryFolder()
        try await run(in: folder) { server in
            let ended = try await session(server)
            _ = try await server.send(ended.intent(#"{"type":"increment"}"#, [("Idempotency-Key", "key-0")]))
            await server.sessions.writeRecordings()
            _ = try await server.send(ended.request("DELETE", "/sessions/current"))
            let sessions = [
                try await session(server), try await session(server, of: "anna premium"),
                try await session(server, of: "bob basic 600", shared: true),
            ]
            for session in sessions {
                for (number, feature, body) in [
                    (1, "probe", #"{"type":"add","amount":5}"#), (2, "probe", #"{"type":"say","text":"hi"}"#),
                    (3, "probe", #"{"type":"grow","bytes":50}"#), (4, "alarm", #"{"type":"set","minutes":5}"#),
                ] {
                    let answer = try await server.send(
                        session.intent(body, [("Idempotency-Key", "key-\(number)")], to: feature))
                    try #require(answer.status == 202)
                }
                for (number, body) in [(1, #"{"type":"weigh","weight":2}"#), (2, #"{"type":"weigh"}"#)] {
                    let answer = try await server.send(
                        session.intent(body, [("Intent-Seq", "\(number)"), ("Intent-Epoch", "e")], to: "item:3"))
                    replace(answer.text.firstMatch(of: #/"intent":"([^"]+)"/#)?.1, by: "INTENT")
                }
                _ = try await server.send(session.request("GET", "/features/item:4/state"))
                _ = try await server.send(session.request("DELETE", "/features/item:4/state"))
            }
            await server.sessions.writeRecordings()
        }
        // The schema's column and index for spaces are new.
        let text = try rows(of: folder).replacing("shared, space, subject", with: "shared, subject")
            .replacing(" space=NULL ", with: " ").replacing("  index sessions_by_space\n", with: "")
            // So is that for clients' settings, of which there are none.
            .replacing(": client, ", with: ": ").replacing("  client=NULL ", with: "  ")
        try compare(text, "rows.txt")
    }

    // MARK: The server

    @FeatureBuilder
    private static func content(_ gate: Gate) -> ServerContent {
        TestServer.probes(gate)
        Alarm()
    }

    private func run<Result>(
        in folder: TemporaryFolder, _ test: (TestServer) async throws -> Result
    ) async throws -> Result {
        var settings = ServerSettings()
        (settings.port, settings.recordedTurns) = (0, 100)
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let journal = try await SQLiteJournal.open(directory: folder.path, logger: logger, commitWindow: .zero)
        let (time, clock, gate) = (ManualTime(), ManualClock(), Gate())
        let assembly = try Assembly(
            Self.content(gate), settings: settings, logger: logger, authenticator: WordAuthenticator(),
            adapt: { parts in
                SessionEnvironment(
                    features: parts.features, limits: parts.limits, journal: journal,
                    time: time.source(monotonicStart: .zero), clock: clock, middleware: parts.middleware,
                    metrics: parts.metrics, tracer: parts.tracer, report: parts.report)
            })
        try assembly.http.start()
        let server = TestServer(
            assembly: assembly, client: SocketClient(port: assembly.http.port), journal: HeldJournal(), shared: nil,
            time: time, clock: clock, gate: gate)
        let result: Swift.Result<Result, any Error>
        do { result = .success(try await test(server)) } catch { result = .failure(error) }
        server.sessions.drain()
        await assembly.http.shutdown(grace: .seconds(2))
        await journal.close()
        return try result.get()
    }

    private func session(
        _ server: TestServer, of identity: String? = nil, shared: Bool = false
    ) async throws -> Credential {
        let session =
            if let identity {
                try await server.session(of: identity, shared: shared)
            } else {
                try await server.session()
            }
        replace(session.id[...], by: "SESSION")
        return session
    }

    private func stream(
        _ server: TestServer, _ session: Credential, _ target: String, _ fields: [(name: String, value: String)] = []
    ) async throws -> Connection {
        try await offThePool { [port = server.port] in
            let stream = try Connection(port: port)
            try stream.send(session.request("GET", target, fields))
            return stream
        }
    }

    /// All bytes of a stream up to the end of a text.
    private func read(_ stream: Connection, through text: String) async throws -> String {
        let read = try await offThePool { try stream.text(through: text) }
        replace(read.firstMatch(of: #/"epoch":"([^"]+)"/#)?.1, by: "EPOCH")
        return read
    }

    // MARK: Comparison

    /// The columns whose values are random, and those of which the disk's probes decide.
    private static let random: Set = [
        "sessions.token", "sessions.id", "sessions.epoch", "sessions.nonce", "sessions.recent", "stores.nonce",
        "stores.recent", "receipts.intent", "credentials.token", "tombstones.token", "secrets.value", "probe.ballast",
        "probe.count",
    ]

    /// The tables and indexes with their columns in the order of their names, each followed by its rows.
    private func rows(of folder: TemporaryFolder) throws -> String {
        var connection = try SQLite.Connection(.file("\(folder.path)/journal.sqlite"))
        var lines: [String] = []
        // Only spaces have rows of it.
        for table in ["visits", "heard"] {
            #expect(try connection.query("SELECT 1 FROM \(table)", []) { try $0.int(0) }.isEmpty)
        }
        for table in try connection.query(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('visits', 'heard') ORDER BY name", [],
            { try $0.text(0) })
        {
            let columns = try connection.query(
                "SELECT name FROM pragma_table_xinfo(?) ORDER BY name", [.text(table)]
            ) { try $0.text(0) }
            lines.append("\(table): \(columns.joined(separator: ", "))")
            for index in try connection.query(
                "SELECT name FROM pragma_index_list(?) ORDER BY name", [.text(table)], { try $0.text(0) })
            {
                lines.append("  index \(index)")
            }
            let values = columns.map { column in
                Self.random.contains("\(table).\(column)")
                    ? "iif(typeof(\(column)) = 'integer', '‹›', '‹' || length(\(column)) || '›')"
                    : "quote(\(column))"
            }
            let texts = zip(columns, values).map { "'\($0)=' || coalesce(\($1), 'NULL')" }
            lines += try connection.query(
                "SELECT \(texts.joined(separator: " || ' ' || ")) FROM \(table)", []
            ) { "  " + Self.readable(try $0.text(0)) }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Shows blobs of text as text, without the time that a turn took and what fills its place.
    private static func readable(_ row: String) -> String {
        row.replacing(#/X'([0-9A-F]+)'/#) { match in
            let digits = Array(match.1)
            let bytes = stride(from: 0, to: digits.count, by: 2)
                .compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
            guard bytes.first == UInt8(ascii: "{"), let text = String(validating: bytes, as: UTF8.self) else {
                return String(match.0)
            }
            return text.replacing(#/"microseconds":\d+/#, with: #""microseconds":0"#)
                .trimmingCharacters(in: .whitespaces)
        }
    }

    private func replace(_ text: Substring?, by name: String) {
        guard let text else { return }
        replaced.withLock { $0.append((String(text), name)) }
    }

    private func compare(_ text: String, _ name: String) throws {
        var text = text.replacing(#/("retry"|retry): ?\d+/#) { "\($0.1): RETRY" }
            .replacing(#/Date: [^\r]+/#, with: "Date: DATE")
        for (random, name) in replaced.withLock({ $0 }) { text = text.replacing(random, with: name) }
        let expected = try Repository.text("Tests/BeforeShared/\(name)")
        let changes = text.split(separator: "\n", omittingEmptySubsequences: false)
            .difference(from: expected.split(separator: "\n", omittingEmptySubsequences: false))
        #expect(changes.isEmpty, "\(changes.map { "\($0)" }.joined(separator: "\n"))")
    }
}

/// A feature with a reminder.
private struct Alarm: Feature {
    struct State: Codable, Equatable, Sendable { var rings = 0 }
    enum Intent: Codable, Sendable { case set(minutes: Int) }
    enum Action: Codable, Sendable { case ring }
    enum Message: Codable, Sendable { case rang }

    static let examples: [Intent] = [.set(minutes: 5)]
    static let name = "alarm"
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        guard case .set(let minutes) = intent else { return }
        turn.remind(id: "ring", after: .seconds(minutes * 60), .ring)
    }
    func perform(_ action: Action, _ turn: inout Turn<Self>) { turn.dispatch(.rang) }
    func reduce(_ state: inout State, _ message: Message) { state.rings += 1 }
}

/// A folder that is deleted with its owner.
private final class TemporaryFolder: Sendable {
    let path = "\(NSTemporaryDirectory())mvi-unchanged-\(UUID().uuidString)"

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
