import MVI

struct Search: Feature {
    struct State: Codable, Equatable, Sendable {
        var text = ""
        var results: [String] = []
        var number = 0
    }
    enum Intent: Codable, Sendable { case queryChanged(String), load }
    enum Message: Equatable, Sendable { case queryChanged(String), found([String]), loaded(Int), failed }
    static let examples: [Intent] = [.queryChanged("tea"), .load]
    let initialState = State()
    let find: @Sendable (String) async throws -> [String]
    let next: @Sendable () async throws -> Int

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .queryChanged(let text):
            turn.dispatch(.queryChanged(text))
            turn.debounce(id: "search", for: .milliseconds(300)) { [find] work in
                await work.dispatch(.found(try await find(text)))
            }
        case .load:
            turn.launch(id: "load") { [next] work in
                let number = try await work.retry(
                    attempts: 3, backoff: .exponential(from: .milliseconds(200), to: .seconds(5))
                ) {
                    try await work.timeout(after: .seconds(2)) { try await next() }
                }
                await work.dispatch(.loaded(number))
            }
        }
    }

    func onFailure(_ failure: Failure, _ turn: inout Turn<Self>) {
        if case .work("search") = failure.stage { turn.dispatch(.failed) }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .queryChanged(let text): state.text = text
        case .found(let results): state.results = results
        case .loaded(let number): state.number = number
        case .failed: state.results = []
        }
    }
}

public struct Inbox: Feature {
    public struct State: Codable, Equatable, Sendable {
        var mails: [String]?
        var isLoading = false
    }
    public enum Intent: Codable, Sendable { case refresh }
    public enum Message: Equatable, Sendable { case loadStarted, loaded([String]) }
    public static let examples: [Intent] = [.refresh]
    public let initialState = State()
    let arrivals: @Sendable () -> AsyncStream<[String]>
    let fetch: @Sendable () async throws -> [String]

    public func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) {
        // The store is new, or was evicted or restarted before the mails were loaded.
        if turn.state.mails == nil || turn.state.isLoading { load(&turn) }
        turn.observe(id: "arrivals") { [arrivals] in
            arrivals()
        } onElement: { mails, work in
            await work.dispatch(.loaded(mails))
        }
    }

    public func execute(_ intent: Intent, _ turn: inout Turn<Self>) { load(&turn) }

    private func load(_ turn: inout Turn<Self>) {
        turn.dispatch(.loadStarted)
        turn.launch(id: "load", policy: .keepPrevious) { [fetch] work in
            await work.dispatch(.loaded(try await fetch()))
        }
    }

    public func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .loadStarted: state.isLoading = true
        case .loaded(let mails): state = State(mails: mails)
        }
    }
}

public struct Account: Feature {
    public struct State: Codable, Equatable, Sendable {
        var cents = 0
        var owner = ""
        var balance: Int { cents }
    }
    public struct ViewState: Codable, Equatable, Sendable {
        var balance: String
        var mayWithdraw: Bool
    }
    public enum Intent: Codable, Sendable { case send(amount: Int) }
    public static let examples: [Intent] = [.send(amount: 5)]
    public let initialState = State()
    let count: @Sendable (String) -> Void

    /// Version 1 held euros.
    struct StateV1: Decodable {
        var euros: Double
        var owner: String?
    }

    public static let schemaVersion = 2
    public static let migrations = [
        Migration(from: 1, StateV1.self) { old in
            State(cents: Int((old.euros * 100).rounded()), owner: old.owner ?? "")
        }
    ]

    public var middleware: Middleware<Self> {
        Middleware.intercepting { intent, interception in
            if case .send(let amount) = intent, amount < 1 || amount > interception.state.balance {
                throw Refusal(.invalid, "The amount must be from 1 to the balance.")
            }
            return intent
        }
        .combined(
            with: .observing { [count] observation in
                if case .intent(.send) = observation.event { count("transfer_sent") }
            })
    }

    public func reduce(_ state: inout State, _ intent: Intent) {
        switch intent {
        case .send(let amount): state.cents &-= amount
        }
    }

    public func view(_ state: State) -> ViewState {
        let (euros, cents) = (state.cents / 100, state.cents % 100)
        return ViewState(
            balance: "\(euros).\(cents < 10 ? "0" : "")\(cents)", mayWithdraw: state.cents > 0)
    }
}

/// Counts intents by feature.
struct IntentCounts: CommonMiddleware {
    let count: @Sendable (_ feature: String) -> Void

    func middleware<F: Feature>(for feature: F.Type) -> Middleware<F> {
        .observing { [count] observation in
            if case .intent = observation.event { count(F.name) }
        }
    }
}
