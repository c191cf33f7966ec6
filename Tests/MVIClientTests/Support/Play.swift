import Testing

@testable import MVIClient

/// A connection whose inputs, time and chance a test decides.
struct Play {
    var connection: ClientConnection
    var now = Duration.zero
    /// The commands of the last input.
    var commands: [Command] = []
    /// The stream that was opened last.
    private(set) var stream: ExchangeID?

    static let token = "token-1"

    /// - Parameter random: what chance gives, from 0 to 1.
    init(_ change: (inout ConnectionSettings) -> Void = { _ in }, random: Double = 1) {
        var settings = ConnectionSettings()
        settings.gatherTime = .zero
        change(&settings)
        connection = ClientConnection(settings: settings, random: { random })
    }

    @discardableResult
    mutating func handle(_ input: Input) -> [Command] {
        commands = connection.handle(input, at: now)
        for case .start(let id, let request) in commands
        where request.target.hasPrefix("/events") && request.method == "GET" {
            stream = id
        }
        return commands
    }

    @discardableResult
    mutating func advance(by duration: Duration) -> [Command] {
        now += duration
        return handle(.tick)
    }

    // MARK: What was asked for

    /// The requests that the last input started.
    var requests: [HTTPRequest] { started.map(\.request) }

    private var started: [(id: ExchangeID, request: HTTPRequest)] {
        commands.compactMap { command in
            guard case .start(let id, let request) = command else { return nil }
            return (id, request)
        }
    }

    /// The one request that the last input started.
    func request(_ location: SourceLocation = #_sourceLocation) throws -> (id: ExchangeID, request: HTTPRequest) {
        try #require(started.count == 1, "\(commands)", sourceLocation: location)
        return started[0]
    }

    var conditions: [Condition] { commands.compactMap { if case .show(let condition) = $0 { condition } else { nil } } }

    var deliveries: [IntentDelivery] {
        commands.compactMap { if case .deliver(_, let delivery) = $0 { delivery } else { nil } }
    }

    var outcomes: [UInt64: Result<IntentReceipt, RemoteError>] {
        var all: [UInt64: Result<IntentReceipt, RemoteError>] = [:]
        for case .finish(let intent, let result) in commands { all[intent] = result }
        return all
    }

    // MARK: What the server does

    /// Answers a request whole.
    @discardableResult
    mutating func answer(
        _ id: ExchangeID, _ status: Int, _ body: String = "", type: String = "application/json",
        cookie: String? = nil, retryAfter: Duration? = nil
    ) -> [Command] {
        var fields = ["content-type": type]
        fields["set-cookie"] = cookie
        var all = handle(.head(id, HTTPAnswer(status: status, fields: fields, retryAfter: retryAfter)))
        if !body.isEmpty { all += handle(.bytes(id, Array(body.utf8))) }
        commands = all + handle(.end(id, nil))
        return commands
    }

    @discardableResult
    mutating func refuse(
        _ id: ExchangeID, _ status: Int, _ problem: String, retryAfter: Duration? = nil
    ) -> [Command] {
        answer(
            id, status, #"{"type":"/problems/\#(problem)","title":"No","status":\#(status)}"#,
            type: "application/problem+json", retryAfter: retryAfter)
    }

    /// The head of an accepted stream.
    mutating func accept(_ id: ExchangeID) {
        handle(.head(id, HTTPAnswer(status: 200, fields: ["content-type": "text/event-stream; charset=utf-8"])))
    }

    /// Writes to the last stream.
    @discardableResult
    mutating func write(_ text: String) throws -> [Command] {
        handle(.bytes(try #require(stream), Array(text.utf8)))
    }

    @discardableResult
    mutating func event(_ name: String, _ data: String, id: String? = nil) throws -> [Command] {
        try write((id.map { "id: \($0)\n" } ?? "") + "event: \(name)\ndata: \(data)\n\n")
    }

    @discardableResult
    mutating func hello(epoch: String = "e1", session: String = "s1", cursor: String = "e1.1") throws -> [Command] {
        accept(try #require(stream))
        return try event(
            "hello", #"{"session":"\#(session)","epoch":"\#(epoch)","resumed":false,"heartbeat":20}"#, id: cursor)
    }

    @discardableResult
    mutating func state(_ version: Int, _ feature: String = "counter", id: String? = nil) throws -> [Command] {
        try event(
            "state", #"{"feature":"\#(feature)","version":\#(version),"state":{"count":\#(version)}}"#, id: id)
    }

    /// The stream ends, or is cut.
    @discardableResult
    mutating func end(cut: Bool = false) throws -> [Command] {
        handle(.end(try #require(stream), cut ? TransportFailure() : nil))
    }

    // MARK: Longer stories

    /// Watches, makes a session, opens the stream.
    mutating func connect(_ features: String...) throws {
        for feature in features.isEmpty ? ["counter"] : features { handle(.watch(feature)) }
        handle(.credential(.success(nil)))
        let made = try request()
        #expect(made.request.method == "POST" && made.request.target == "/sessions")
        answer(made.id, 201, #"{"id":"s1","token":"\#(Self.token)"}"#)
    }

    /// A stream that has shown version 1.
    static func live(
        _ features: String..., change: (inout ConnectionSettings) -> Void = { _ in }, random: Double = 1
    ) throws -> Play {
        var play = Play(change, random: random)
        for feature in features.isEmpty ? ["counter"] : features { play.handle(.watch(feature)) }
        play.handle(.credential(.success(token)))
        try play.hello()
        for feature in features.isEmpty ? ["counter"] : features { try play.state(1, feature, id: "e1.1") }
        return play
    }

    /// Sends an intent with that number.
    @discardableResult
    mutating func send(
        _ number: UInt64, to feature: String = "counter", completion: SendCompletion = .committed
    ) -> [Command] {
        handle(
            .send(
                PendingIntent(
                    id: number, feature: feature, body: Array(#"{"type":"increment"}"#.utf8), key: "key-\(number)",
                    completion: completion)))
    }

    /// Answers an intent as having run.
    @discardableResult
    mutating func accepted(_ id: ExchangeID, version: Int) -> [Command] {
        answer(id, 202, #"{"intent":"i","session":"s1","feature":"counter","version":\#(version)}"#)
    }
}

extension IntentDelivery {
    static func count(_ version: UInt64) -> IntentDelivery {
        .state(version: version, Array(#"{"count":\#(version)}"#.utf8))
    }
}
