import Testing
import WireJSON

@testable import MVIClient

/// The list of the ids that were added, and the intents that add one.
struct IDList: Codable, Equatable, Sendable { var ids: [String] }
struct IDIntent: Codable, Equatable, Sendable {
    var type = "add"
    var id: String
}

/// A store of a connection whose inputs, time and chance a test decides, with predictions.
struct PredictionPlay {
    struct Unpredictable: Error {}
    typealias Book = Predictions<IDList, IDIntent, String>

    var play: Play
    var book = Book { list, intent in
        if intent.id == "throws" || intent.type != "add" { throw Unpredictable() }
        list.ids.append(intent.id)
    }
    var labels: [String] = []
    /// The attempt in flight, and its key.
    private(set) var inFlight: (id: ExchangeID, key: String)?
    private(set) var results: [String: Result<IntentReceipt, RemoteError>] = [:]
    private var keys: [UInt64: String] = [:]
    private var lastNumber: UInt64 = 0
    /// The numbers and ends of held states.
    private var holds: [(number: Int, end: Duration)] = []
    private var told = 0

    /// A store whose stream has said hello.
    init(delta: DeltaFormat? = nil, random: Double = 1) throws {
        play = Play({ $0.delta = delta }, random: random)
        perform(play.handle(.watch("list")))
        perform(play.handle(.credential(.success(Play.token))))
        perform(try play.hello())
    }

    /// Performs commands as a feed does.
    mutating func perform(_ commands: [Command]) {
        for command in commands {
            switch command {
            case .start(let id, let request) where request.target.hasSuffix("/intents"):
                inFlight = (id, request["Idempotency-Key"]?.filter { $0 != "\"" } ?? "")
            case .cut(let id) where id == inFlight?.id: inFlight = nil
            case .progress(let id, let progress): if let key = keys[id] { book.note(progress, of: key) }
            case .finish(let id, let result):
                guard let key = keys[id] else { continue }
                results[key] = result
                if case .failure(let error) = result { book.note(.failed(error), of: key) }
            case .deliver(_, let delivery): take(delivery)
            default: break
            }
            follow()
        }
    }

    private mutating func take(_ delivery: IntentDelivery) {
        switch delivery {
        case .state(let version, let intent, let bytes):
            guard let state = try? WireJSON.decode(IDList.self, from: bytes) else { return }
            book.show(state, version: version, intent: intent)
        case .label(let label):
            if let text = try? WireJSON.decode(String.self, from: label.label) { book.deliver(text) }
        case .presence: break
        case .ended, .denied, .missing: book.end()
        case .reset: book.reset()
        case .forgotten: book.reset(forgetsVersion: true)
        }
    }

    private mutating func follow() {
        if let folding = book.folding { book.fold(folding, folding.folded(book.predict)) }
        labels += book.labels
        book.labels = []
        if book.isHolding, book.holdNumber > told {
            told = book.holdNumber
            holds.append((told, play.now + Book.doubtLimit))
        }
    }

    // MARK: Steps

    mutating func send(_ id: String, type: String = "add") {
        let intent = IDIntent(type: type, id: id)
        let body = (try? WireJSON.encode(intent)) ?? []
        // The server's author predicts `add` only.
        enqueue(id, body, isPredicted: type == "add" && book.add(intent, body: body, key: id))
        follow()
    }

    mutating func retry(_ id: String) {
        if let body = book.retry(id) { enqueue(id, body, isPredicted: true) }
        follow()
    }

    private mutating func enqueue(_ key: String, _ body: [UInt8], isPredicted: Bool) {
        lastNumber += 1
        keys[lastNumber] = key
        var intent = PendingIntent(id: lastNumber, feature: "list", body: body, key: key)
        intent.isPredicted = isPredicted
        perform(play.handle(.send(intent)))
    }

    mutating func advance(by duration: Duration) {
        let end = play.now + duration
        while true {
            let next = min(holds.map(\.end).min() ?? end, play.connection.deadline ?? end, end)
            perform(play.advance(by: max(next - play.now, .zero)))
            for hold in holds where hold.end <= play.now { book.suspend(hold: hold.number) }
            holds.removeAll { [now = play.now] in $0.end <= now }
            follow()
            if play.now >= end { return }
        }
    }

    /// Answers the attempt in flight, or loses it.
    mutating func answer(_ status: Int, _ body: (_ key: String) -> String) throws {
        let (id, key) = try #require(inFlight)
        inFlight = nil
        let type = status < 300 ? "application/json" : "application/problem+json"
        perform(play.answer(id, status, body(key), type: type))
    }

    mutating func answer(version: Int) throws {
        try answer(202) { #"{"intent":"\#($0)","session":"s1","feature":"list","version":\#(version)}"# }
    }

    mutating func refuse(_ status: Int, _ problem: String = "refused") throws {
        try answer(status) { _ in #"{"type":"/problems/\#(problem)","status":\#(status)}"# }
    }

    mutating func lose() throws {
        let (id, _) = try #require(inFlight)
        inFlight = nil
        perform(play.handle(.end(id, TransportFailure())))
    }

    mutating func event(_ name: String, _ data: String, id: String? = nil) throws {
        perform(try play.event(name, data, id: id))
    }

    mutating func state(_ version: Int, _ ids: [String], intent: String? = nil) throws {
        let named = intent.map { #","intent":"\#($0)""# } ?? ""
        try event("state", #"{"feature":"list","version":\#(version)\#(named),"state":{"ids":\#(Self.json(ids))}}"#)
    }

    mutating func patch(from: Int, to: Int, _ ids: [String], intent: String? = nil) throws {
        let named = intent.map { #","intent":"\#($0)""# } ?? ""
        try event(
            "patch", #"{"feature":"list","from":\#(from),"to":\#(to)\#(named),"patch":{"ids":\#(Self.json(ids))}}"#)
    }

    mutating func hello(epoch: String) throws {
        perform(try play.end(cut: true))
        while play.connection.stream.open == nil { advance(by: .seconds(1)) }
        perform(try play.hello(epoch: epoch, cursor: "\(epoch).1"))
    }

    mutating func unwatch() {
        perform(play.handle(.unwatch("list")))
        book.unwatched()
        follow()
    }

    private static func json(_ ids: [String]) -> String { "[" + ids.map { "\"\($0)\"" }.joined(separator: ",") + "]" }
}
