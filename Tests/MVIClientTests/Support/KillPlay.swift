import Testing

@testable import MVIClient

/// Runs of an app that is killed again and again, with a server and storages that outlive it. A test decides inputs, time
/// and chance.
///
/// The storage of waiting intents is as unkind as a real one: a kill loses the saves that it has not written yet.
struct KillPlay {
    /// The server, which runs each key once.
    struct World {
        var sessions: [String: String] = [:]
        /// The intents that ran, in order.
        var ran: [Int] = []
        var receipts: [String: Int] = [:]
        private var made = 0

        mutating func makeSession() -> (id: String, token: String) {
            made += 1
            sessions["token-\(made)"] = "s\(made)"
            return ("s\(made)", "token-\(made)")
        }

        mutating func run(_ number: Int, _ key: String) -> Int {
            if receipts[key] == nil {
                ran.append(number)
                receipts[key] = ran.count
            }
            return receipts[key] ?? 0
        }
    }

    static let patience = Duration.seconds(300)

    var world = World()
    /// The saved text.
    var text: String?
    /// The texts that the storage has not written yet.
    private(set) var unwritten: [String] = []
    private(set) var token: String?
    private(set) var play = Play()
    /// The clock that the user can set.
    var wallTime = Duration.seconds(1_700_000_000)
    /// The requests without an answer.
    private(set) var requests: [(id: ExchangeID, request: HTTPRequest)] = []
    private(set) var isLoading = (credential: false, intents: true)
    /// The intents that an earlier run kept and that failed.
    private(set) var abandoned: [Int: RemoteError] = [:]
    /// The intents that failed in any run. A kill before this is saved has them sent again.
    private(set) var failed: Set<Int> = []
    private var numbers: [UInt64: Int] = [:]
    private var lastID: UInt64 = 0
    private var resumed: Set<UInt64> = []
    private var lastKey = 0

    init(token: String? = nil) {
        self.token = token
        start()
    }

    /// Starts the app.
    private mutating func start() {
        play = Play { ($0.keepsIntents, $0.patience) = (true, Self.patience) }
        (requests, isLoading, numbers, resumed) = ([], (false, true), [:], [])
    }

    /// Ends the app without a warning, and starts it again.
    ///
    /// - Parameter written: the number of unwritten saves that the storage still writes.
    mutating func kill(written: Int = 0, after time: Duration = .zero) {
        if let last = unwritten.prefix(written).last { text = last }
        unwritten = []
        wallTime += time
        start()
    }

    /// Changes the stored credential, as another program may.
    mutating func setToken(_ token: String?) { self.token = token }

    // MARK: Inputs

    mutating func handle(_ input: Input) { perform(play.handle(input)) }

    mutating func advance(by time: Duration) {
        wallTime += time
        perform(play.advance(by: time))
    }

    mutating func send(_ number: Int) {
        lastID += 1
        lastKey += 1
        numbers[lastID] = number
        var intent = PendingIntent(id: lastID, feature: "counter", body: Array("\(number)".utf8), key: "k\(lastKey)")
        intent.until = wallTime + Self.patience
        handle(.send(intent))
    }

    mutating func loadCredential() {
        isLoading.credential = false
        handle(.credential(.success(token)))
    }

    /// The storage of waiting intents answers.
    mutating func loadIntents() {
        isLoading.intents = false
        let list = text.map { KeptIntent.list(in: $0) } ?? []
        let intents = list.map { kept -> PendingIntent in
            lastID += 1
            numbers[lastID] = Int(String(decoding: kept.body, as: UTF8.self))
            resumed.insert(lastID)
            var intent = PendingIntent(id: lastID, feature: kept.feature, body: kept.body, key: kept.key)
            (intent.until, intent.owner, intent.mayHaveRun) = (kept.until, kept.owner, kept.mayHaveRun)
            return intent
        }
        handle(.restore(intents, wallTime: wallTime))
    }

    /// Starts the app with its storages read.
    mutating func load() {
        loadIntents()
        if isLoading.credential { loadCredential() }
    }

    /// The storage writes what it was given.
    mutating func write() {
        if let last = unwritten.last { text = last }
        unwritten = []
    }

    private mutating func perform(_ commands: [Command]) {
        for command in commands {
            switch command {
            case .start(let id, let request): requests.append((id, request))
            case .cut(let id): requests.removeAll { $0.id == id }
            case .loadCredential: isLoading.credential = true
            case .saveCredential(let token): self.token = token
            case .saveIntents(let list): unwritten.append(KeptIntent.text(of: list) ?? "")
            case .finish(let id, let result):
                guard let number = numbers[id] else { continue }
                guard case .failure(let error) = result else { continue }
                failed.insert(number)
                if resumed.contains(id) { abandoned[number] = error }
            default: break
            }
        }
    }

    // MARK: The server

    /// The number of the intent in flight, its key and the session that it names.
    var inFlight: (number: Int, key: String, session: String?)? {
        guard let request = requests.first(where: { $0.request.target.hasSuffix("/intents") })?.request,
            let number = Int(String(decoding: request.body, as: UTF8.self))
        else { return nil }
        return (number, request["Idempotency-Key"] ?? "", request["MVI-Session"])
    }

    var isCredentialRead: Bool { play.connection.session.isRead }

    /// The numbers that the storage has.
    var kept: [Int] {
        (text.map { KeptIntent.list(in: $0) } ?? []).compactMap { Int(String(decoding: $0.body, as: UTF8.self)) }
    }

    /// The numbers that wait, in order.
    var waiting: [Int] {
        play.connection.intents.queue.compactMap { $0.body.flatMap { Int(String(decoding: $0, as: UTF8.self)) } }
    }

    private mutating func take(_ suffix: String) -> (id: ExchangeID, request: HTTPRequest)? {
        guard let index = requests.firstIndex(where: { $0.request.target.hasSuffix(suffix) }) else { return nil }
        return requests.remove(at: index)
    }

    mutating func makeSession() {
        guard let (id, _) = take("/sessions") else { return }
        let made = world.makeSession()
        perform(play.answer(id, 201, #"{"id":"\#(made.id)","token":"\#(made.token)"}"#))
    }

    /// The stream of a watched store tells the session.
    mutating func hello(session: String) throws { perform(try play.hello(session: session)) }

    /// Answers the intent in flight as a server does that knows its session.
    mutating func answer() {
        guard let (number, key, named) = inFlight, let (id, request) = take("/intents") else { return }
        let token = String(request["Authorization"]?.dropFirst("Bearer ".count) ?? "")
        guard let session = world.sessions[token] else {
            return perform(play.refuse(id, 404, "session-not-found"))
        }
        if let named, named != session { return perform(play.refuse(id, 409, "other-session")) }
        let version = world.run(number, key)
        perform(
            play.answer(id, 202, #"{"intent":"i","session":"\#(session)","feature":"counter","version":\#(version)}"#))
    }

    mutating func refuse(_ status: Int, _ problem: String) {
        if let (id, _) = take("/intents") { perform(play.refuse(id, status, problem)) }
    }

    /// The answer is lost; the intent ran or not.
    mutating func lose(ran: Bool) {
        guard let (number, key, _) = inFlight, let (id, request) = take("/intents") else { return }
        let token = String(request["Authorization"]?.dropFirst("Bearer ".count) ?? "")
        if ran, world.sessions[token] != nil { _ = world.run(number, key) }
        perform(play.handle(.end(id, TransportFailure())))
    }
}
