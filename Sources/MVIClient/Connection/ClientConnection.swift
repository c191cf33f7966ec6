import EventStream

/// The logic of a client: inputs go in, commands come out.
///
/// A value without its own clock, lock, input or output, driven by ``ClientCore`` and by tests. After each input, the
/// session, the stream and the intents are advanced according to their states.
struct ClientConnection: Sendable {
    let settings: ConnectionSettings
    let pace: Pace

    /// The time of the present input, since a fixed point.
    var now = Duration.zero
    /// The commands that result from the present input so far.
    var commands: [Command] = []

    var watched: Set<String> = []
    /// False if there is no network, as far as is known: no attempts are made.
    var isOnline = true
    var isClosed = false
    var session = SessionState()
    var stream = ClientStream()
    var intents = IntentState()
    /// The pending requests other than streams.
    var exchanges: [ExchangeID: Exchange] = [:]

    private var lastExchange: UInt64 = 0
    /// The last report of the network's availability, which may be wrong.
    private var wasReportedOnline = true
    private var shownCondition = Condition.idle
    private var shownNextTry: Duration?

    /// A pending request and the received part of its answer.
    struct Exchange: Sendable {
        enum Purpose: Sendable, Equatable {
            case makeSession, putIdentity, putSettings, endSession
            case intent
            /// A check of one feature after a stream of several was refused.
            case look(feature: String)
        }
        let purpose: Purpose
        /// The generation of the credential that the request was sent with.
        let generation: Int
        let deadline: Duration
        var answer: HTTPAnswer?
    }

    /// The maximum number of bytes of an answer other than a stream.
    static let answerLimit = 4 << 20

    /// - Parameter random: returns uniformly distributed numbers from 0 to 1.
    init(settings: ConnectionSettings, random: @escaping @Sendable () -> Double) {
        self.settings = settings
        pace = Pace(random: random)
        intents.isRestored = !settings.keepsIntents
    }

    /// Processes an input that arrived at `time` and returns the commands to perform, in order. Inputs of canceled
    /// requests are ignored.
    mutating func handle(_ input: Input, at time: Duration) -> [Command] {
        now = max(now, time)
        if !isClosed {
            take(input)
            // A closed client leaves its intents to the next one.
            if !isClosed {
                advance()
                saveIntents()
            }
            showCondition()
        } else if case .send(let intent) = input {
            finish(intent, .failure(Self.closedError))
        }
        defer { commands = [] }
        return commands
    }

    /// The time of the next `tick`; nil if none is needed before another input.
    var deadline: Duration? {
        guard !isClosed else { return nil }
        var times = exchanges.values.map(\.deadline)
        times += [session.deadline, streamDeadline, intentDeadline].compactMap(\.self)
        // Expired times wait for another input, such as an answer or a network.
        return times.filter { $0 > now }.min()
    }

    private mutating func take(_ input: Input) {
        switch input {
        case .watch(let feature): watch(feature)
        case .unwatch(let feature): unwatch(feature)
        case .send(let intent): enqueue(intent)
        case .cancelIntent(let id): cancelIntent(id)
        case .restore(let kept, let wallTime): restore(kept, wallTime: wallTime)
        case .online(let isOnline): setOnline(isOnline)
        case .foreground:
            // A system may report no network while the server can be reached. The attempt tells.
            isOnline = true
            retryNow(includingPaused: true)
        case .signIn(let keepsStores): signIn(keepsStores: keepsStores)
        case .renewSession: renewSession()
        case .close: close()
        case .credential(let result): loaded(result)
        case .identity(let identity): identified(identity)
        case .head(let id, let answer):
            if id == stream.open?.id { streamHead(answer) } else { exchanges[id]?.answer = answer }
        case .bytes(let id, let bytes):
            if id == stream.open?.id { streamBytes(bytes) } else { gather(bytes, of: id) }
        case .end(let id, let failure):
            if id == stream.open?.id {
                streamEnd(failure)
            } else if let exchange = exchanges.removeValue(forKey: id) {
                finish(exchange, failure)
            }
        case .tick: break
        }
    }

    private mutating func advance() {
        cutSlowExchanges()
        resolveOwners()
        expireIntents()
        checkWatchdog()
        advanceSession()
        advanceIntents()
        advanceStream()
    }

    // MARK: Requests

    @discardableResult
    mutating func start(_ purpose: Exchange.Purpose, _ request: HTTPRequest) -> ExchangeID {
        let id = newExchange()
        exchanges[id] = Exchange(purpose: purpose, generation: session.generation, deadline: now + settings.answerTime)
        commands.append(.start(id, request))
        return id
    }

    mutating func newExchange() -> ExchangeID {
        lastExchange += 1
        return ExchangeID(number: lastExchange)
    }

    /// Returns a request with the session's credential.
    func request(_ method: String, _ target: String, _ fields: [HTTPField] = [], body: [UInt8] = []) -> HTTPRequest {
        var all = fields
        if let token = session.token {
            switch settings.credential {
            case .bearer: all.insert(HTTPField("Authorization", "Bearer \(token)"), at: 0)
            case .cookie: all.insert(HTTPField("Cookie", token), at: 0)
            }
        }
        if !body.isEmpty { all.append(HTTPField("Content-Type", "application/json")) }
        return HTTPRequest(method: method, target: target, fields: all, body: body)
    }

    private mutating func gather(_ bytes: [UInt8], of id: ExchangeID) {
        guard let count = exchanges[id]?.answer?.body.count else { return }
        guard count + bytes.count <= Self.answerLimit else {
            commands.append(.cut(id))
            if let exchange = exchanges.removeValue(forKey: id) {
                finish(exchange, TransportFailure(message: "The answer is too long."))
            }
            return
        }
        exchanges[id]?.answer?.body += bytes
    }

    private mutating func cutSlowExchanges() {
        for (id, exchange) in exchanges where exchange.deadline <= now {
            exchanges[id] = nil
            commands.append(.cut(id))
            finish(exchange, TransportFailure(message: "The server did not answer in time."))
        }
    }

    private mutating func finish(_ exchange: Exchange, _ failure: TransportFailure?) {
        let result: Result<HTTPAnswer, TransportFailure>
        if let failure {
            result = .failure(failure)
        } else if let answer = exchange.answer {
            result = .success(answer)
        } else {
            result = .failure(TransportFailure(message: "The answer has no head."))
        }
        switch exchange.purpose {
        case .makeSession: sessionMade(result)
        case .putIdentity: identityPut(result)
        // The server may be older, and the session goes on without.
        case .putSettings: break
        case .endSession: sessionDeleted(result)
        case .intent: intentAnswered(result, generation: exchange.generation)
        case .look(let feature): looked(at: feature, result)
        }
    }

    // MARK: Requests of the app

    private mutating func setOnline(_ isOnline: Bool) {
        guard isOnline != wasReportedOnline else { return }
        wasReportedOnline = isOnline
        self.isOnline = isOnline
        if isOnline { retryNow(includingPaused: false) } else { closeStream() }
    }

    /// Ends delays that the client chose. Delays that the server requested are kept for intents.
    private mutating func retryNow(includingPaused: Bool) {
        session.retryNow(at: now)
        retryStreamNow(includingPaused: includingPaused)
        intents.retryNow(at: now)
    }

    private mutating func close() {
        isClosed = true
        closeStream()
        for id in exchanges.keys { commands.append(.cut(id)) }
        exchanges = [:]
        failIntents(Self.closedError)
    }

    static let closedError = RemoteError(.closed, "The client was closed.")

    // MARK: The condition

    private mutating func showCondition() {
        let (condition, nextTry) = presentCondition
        if case .reconnecting = condition {
            guard nextTry != shownNextTry else { return }
        } else {
            guard condition != shownCondition else { return }
        }
        shownCondition = condition
        shownNextTry = nextTry
        commands.append(.show(condition))
    }

    private var presentCondition: (Condition, nextTry: Duration?) {
        if isClosed { return (.closed, nil) }
        switch session.phase {
        case .ended: return (.ended, nil)
        case .signedOut: return (.signedOut, nil)
        case .failed(let problem): return (.failed(problem), nil)
        default: break
        }
        if watched.isEmpty { return (.idle, nil) }
        if !isOnline { return (.offline, nil) }
        switch stream.phase {
        case .paused: return (.paused, nil)
        case .failed(let problem): return (.failed(problem), nil)
        case .waiting(let until): return (.reconnecting(after: until - now), until)
        // The shown states are current until another stream for other features is accepted or lost.
        case .open(let open) where open.isLive || open.replacesLive: return (.live, nil)
        case .open: return (.connecting, nil)
        case .closed:
            if case .waiting(let until) = session.phase { return (.reconnecting(after: until - now), until) }
            return (streamFeatures.isEmpty ? .idle : .connecting, nil)
        }
    }
}
