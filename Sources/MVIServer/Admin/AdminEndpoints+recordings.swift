import JSONDelta
import MVI
import Schema
import SessionJournal
import Sessions
import WireJSON

/// Recordings of single sessions, and their turns.
extension AdminEndpoints {
    static let recordingBody = 4_096
    /// The default and the maximal number of turns in an answer.
    private static let turnCount = (usual: 200, longest: 1_000)
    private static let recordingTime: ClosedRange<Duration> = .zero ... .seconds(30 * 86_400)

    /// The body of a request for a recording.
    private struct Order: Decodable {
        var turns: Int?
        var bytes: Int?
        var `for`: String?
    }

    @Sendable
    func record(_ incoming: Incoming) throws(Problem) -> Route.Answer {
        let (id, peer) = (incoming.parameterText, incoming.head.peer)
        try MediaTypes.checkJSON(incoming.fields)
        return { [self] body, reply in
            answer(reply) { () async throws(Problem) in
                let (limit, time) = try Self.order(body)
                let until = sessions.environment.time.sinceEpoch() + time
                let isFound = try await asking { () async throws(StoreError) in
                    if let id { try await sessions.record(id, limit, until: until) } else { false }
                }
                guard isFound, let id else { throw Self.notFound }
                logger?.notice(
                    "An administrator recorded a session",
                    metadata: [
                        "session": "\(id)", "turns": "\(limit.turns)", "until": "\(Timestamp(sinceEpoch: until))",
                        "peer": "\(peer)",
                    ])
                return Self.json(200, Self.recording(limit, until: until))
            }
        }
    }

    private static func order(_ body: [UInt8]) throws(Problem) -> (RecordingLimit, Duration) {
        let order: Order
        do throws(WireDecodingError) { order = try WireJSON.decode(Order.self, from: body) } catch {
            throw Problem(.badRequest, "The body is not a recording's limits: \(error)")
        }
        let limit = RecordingLimit(turns: order.turns ?? 1_000, bytes: order.bytes ?? 1 << 20)
        guard (1...1_000_000).contains(limit.turns), (1_024...64 << 20).contains(limit.bytes) else {
            throw Problem(.badRequest, "`turns` must be 1 to 1,000,000, and `bytes` 1,024 to 67,108,864.")
        }
        let format = SettingFormat.time(recordingTime)
        guard let time = format.parse(order.for ?? "1h") else {
            throw Problem(.badRequest, "`for` must be \(format.expected); 0 ends the recording.")
        }
        return (limit, time)
    }

    private static func recording(_ limit: RecordingLimit, until: Duration?) -> [UInt8] {
        var object = JSONObject()
        object.add("turns", limit.turns)
        object.add("bytes", limit.bytes)
        if let until { object.add("until", Timestamp(sinceEpoch: until).description) }
        return object.close()
    }

    @Sendable
    func turns(_ incoming: Incoming) throws(Problem) -> Route.Answer {
        let (id, peer, query) = (incoming.parameterText, incoming.head.peer, QueryItems(incoming.head.query))
        let after = try number("after", query, in: 0...Int64.max) ?? 0
        let limit = try number("limit", query, in: 1...Int64(Self.turnCount.longest)) ?? Int64(Self.turnCount.usual)
        guard let inspector else { throw Inspector.isOff }
        return { [self] _, reply in
            // Not on the executor of sessions: a recording may be large.
            answer(reply, on: nil) { () async throws(Problem) in
                let export = try await asking { () async throws(StoreError) -> SessionExport? in
                    if let id { try await sessions.export(id, turnsFrom: UInt64(after)) } else { nil }
                }
                guard let id else { throw Self.notFound }
                if export == nil {
                    // A session without a turn is only in memory.
                    guard sessions.inMemory([id])[id] != nil else { throw Self.notFound }
                }
                let list = TurnList(
                    export?.turns ?? [], of: id, after: UInt64(after), limit: Int(limit), shapes)
                if inspector == .values, !list.turns.isEmpty {
                    logger?.notice(
                        "An administrator looked at recorded turns",
                        metadata: ["session": "\(id)", "turns": "\(list.turns.count)", "peer": "\(peer)"])
                }
                var object = JSONObject()
                object.add("values", inspector.rawValue)
                object.add("recording", json: present(export?.session))
                object.add("turns", array: list.turns)
                if let next = list.next { object.add("next", next) }
                return Self.json(200, object.close())
            }
        }
    }

    /// The limits of a session's present recording; null if there is none.
    private func present(_ session: StoredSession?) -> [UInt8] {
        let now = sessions.environment.time.sinceEpoch()
        for reminder in session?.reminders ?? [] where reminder.due > now {
            if let limit = reminder.recordingLimit { return Self.recording(limit, until: reminder.due) }
        }
        let all = sessions.environment.limits.recordings
        return all.turns > 0 ? Self.recording(all, until: nil) : Array("null".utf8)
    }
}

/// A part of a session's recorded turns as the inspector shows them.
struct TurnList {
    private(set) var turns: [[UInt8]] = []
    /// The number of the last turn, if there are more.
    private(set) var next: UInt64?

    /// The members of a recording, not decoded.
    private struct Parts: Decodable {
        let intent: String?
        let kind: JSONText?
        let cause: JSONText?
        let actions: JSONText?
        let messages: JSONText?
        let labels: JSONText?
        let state: JSONText?
        let view: JSONText?
        let schemaVersion: Int?
        let subject: JSONText?
        let locale: JSONText?
        let timeZone: JSONText?
        let now: JSONText?
        let uuids: JSONText?
        let viewers: JSONText?
        let reads: JSONText?
        let directed: [TurnFacts.Directed]?
        let sends: JSONText?
        let launched: JSONText?
        let tells: JSONText?
        let toldBy: JSONText?
        let by: JSONText?
        let microseconds: JSONText?
        let failure: JSONText?
        let refusal: JSONText?
        let fault: JSONText?
    }

    private struct Change: Codable {
        let op: String
        let path: String
    }

    /// The size at which an answer ends before its number of turns.
    private static let bytes = 4 << 20

    /// - Parameter shapes: those of the features, by their names; nil for values.
    init(
        _ recorded: [RecordedTurn], of session: String, after: UInt64, limit: Int, _ shapes: [String: ValueShape]?
    ) {
        // The last turn of each store without a gap since; its state is decoded when it is needed.
        var earlier: [FeatureID: RecordedTurn] = [:]
        var (expected, size, last): (UInt64, Int, UInt64) = (0, 0, 0)
        for turn in recorded {
            // A missing turn may belong to any store.
            if turn.number != expected { earlier = [:] }
            expected = turn.number + 1
            defer { earlier[turn.feature] = turn }
            guard turn.number > after else { continue }
            guard turns.count < limit, size < Self.bytes else {
                next = last
                return
            }
            last = turn.number
            let before = earlier[turn.feature].flatMap { try? WireJSON.decode(Parts.self, from: $0.recording).state }
            let parts = try? WireJSON.decode(Parts.self, from: turn.recording)
            let shape = shapes.map { ($0[turn.feature.name] ?? .unknown).of(version: parts?.schemaVersion) }
            turns.append(Self.turn(turn, of: session, parts, before, shape))
            size += turns[turns.count - 1].count
        }
    }

    private static func turn(
        _ turn: RecordedTurn, of session: String, _ parts: Parts?, _ before: JSONText?, _ shape: ValueShape?
    ) -> [UInt8] {
        var object = JSONObject()
        object.add("number", turn.number)
        object.add("feature", turn.feature.text)
        object.add("time", Timestamp(sinceEpoch: turn.time).description)
        guard let parts else {
            object.add("fault", "The recording is not JSON.")
            return object.close()
        }
        func add(_ name: StaticString, _ part: JSONText?) {
            if let part { object.add(name, json: part.bytes) }
        }
        func add(_ name: StaticString, value: JSONText?, _ type: WireType? = nil, namesCases: Bool = false) {
            guard let value else { return }
            object.add(name, json: shape?.of(value.bytes, type ?? .any, namesCases: namesCases) ?? value.bytes)
        }
        add("kind", parts.kind)
        if let intent = parts.intent {
            object.add("intent", shape == nil ? intent : ValueShape.intent(intent, session: session))
        }
        add("cause", value: parts.cause, shape?.cause, namesCases: true)
        add("actions", value: parts.actions, shape?.actions, namesCases: true)
        add("messages", value: parts.messages, shape?.messages, namesCases: true)
        add("labels", value: parts.labels, shape?.labels, namesCases: true)
        add("state", value: parts.state, shape?.state)
        add("view", value: parts.view, shape?.view)
        if let before, let state = parts.state {
            object.add("changes", json: changes(before.bytes, state.bytes, shape))
        }
        if let version = parts.schemaVersion { object.add("schemaVersion", version) }
        if shape == nil {
            add("subject", parts.subject)
            add("locale", parts.locale)
            add("timeZone", parts.timeZone)
        }
        add("now", parts.now)
        add("uuids", value: parts.uuids)
        add("viewers", value: parts.viewers)
        add("reads", parts.reads)
        if let directed = parts.directed {
            let shown = shape == nil ? directed : directed.map { .init(label: $0.label, to: $0.to, name: nil) }
            object.add("directed", json: (try? WireJSON.encode(shown)) ?? [])
        }
        add("sends", parts.sends)
        add("launched", value: parts.launched)
        add("tells", parts.tells)
        add("toldBy", parts.toldBy)
        add("by", parts.by)
        add("microseconds", parts.microseconds)
        add("failure", value: parts.failure)
        add("refusal", value: parts.refusal)
        add("fault", value: parts.fault)
        return object.close()
    }

    /// The operations of the JSON Patch between two states, without values.
    private static func changes(_ before: [UInt8], _ after: [UInt8], _ shape: ValueShape?) -> [UInt8] {
        guard let patch = JSONPatch.diff(from: before, to: after),
            var changes = try? WireJSON.decode([Change].self, from: patch)
        else { return Array("[]".utf8) }
        if let shape { changes = changes.map { Change(op: $0.op, path: shape.path($0.path, of: shape.state)) } }
        return (try? WireJSON.encode(changes)) ?? Array("[]".utf8)
    }
}
