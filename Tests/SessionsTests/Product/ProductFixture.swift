import Locking
import MVI
import MVITesting
import SessionJournal
import Sessions
import TestSupport
import Testing
import WireJSON

/// Collects goods; an order empties it in its own commit.
struct Trolley: Feature {
    struct State: Codable, Equatable, Sendable {
        var items = 0
        var owner = ""
    }
    enum Intent: Codable, Sendable { case put(items: Int), empty, jam, refuseEmpty, pack, nag }
    enum Action: Codable, Sendable { case give(items: Int) }
    enum Message: Codable, Sendable { case put(Int), emptied, owned(String) }
    struct Jammed: Error {}
    static let examples: [Intent] = [.put(items: 1), .empty, .jam, .refuseEmpty, .pack, .nag]
    static var name: String { "basket" }
    let initialState = State()
    var failures = Collected<String>()
    /// The gate that `pack` waits for.
    var packing = Gate()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .pack:
            turn.launch { [packing] work in
                try await packing.wait()
                await work.dispatch(.put(100))
            }
        case .nag: for number in 0..<40 { turn.remind(id: "\(number)", after: .seconds(60), .give(items: 1)) }
        case .put(let items): turn.dispatch(.put(items))
        case .empty: turn.dispatch(.emptied)
        case .jam: throw Jammed()
        case .refuseEmpty: throw Refusal(.conflict, code: "not-now", "Not now.")
        }
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) throws {
        switch action {
        case .give(let items):
            guard items > 0 else { throw Refusal(.invalid, code: "no-gift", "Nothing is no gift.") }
            turn.dispatch(.put(items))
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .put(let items): state.items += items
        case .emptied: state.items = 0
        case .owned(let owner): state.owner = owner
        }
    }

    func signedIn(_ principal: Principal, _ turn: inout Turn<Self>) throws { turn.dispatch(.owned(principal.subject)) }

    func onFailure(_ failure: Failure, _ turn: inout Turn<Self>) { failures.append("\(failure.stage)") }
}

/// Reads the basket, and sends intents to it.
struct Till: Feature {
    struct State: Codable, Equatable, Sendable {
        var orders: [Int] = []
        var ids: [String] = []
        var times: [Timestamp] = []
        var rings = 0
        var text = ""
        var ratio = 0.0
    }
    enum Intent: Codable, Sendable {
        case order, orderAndJam, orderAndRefuse, stamp, buy(item: String), ring(after: Int), fuse(refuses: Bool), hush
        case loop, alarm, who, give(items: Int), later, nag, delegate, remind(of: Action)
    }
    enum Action: Codable, Sendable { case ring, fail, refuse, bought(price: Int), jam, swell, spoil, loop }
    enum Message: Codable, Sendable { case ordered(Int), stamped(Timestamp, String), rang, swollen, spoiled }
    enum Label: Codable, Equatable, Sendable { case caller(name: String) }
    struct Broken: Error {}
    static let examples: [Intent] = [
        .order, .orderAndJam, .orderAndRefuse, .stamp, .buy(item: "a"), .ring(after: 1), .fuse(refuses: true),
        .hush, .loop, .alarm, .who, .give(items: 1), .later, .nag, .delegate, .remind(of: .ring),
    ]
    static let labelExamples: [Label] = [.caller(name: "a")]
    static var name: String { "till" }
    let initialState = State()
    /// The service for prices: returns a price, or throws.
    var prices: @Sendable (String) async throws -> Int = { _ in 3 }
    var failures = Collected<String>()
    /// The actions that were performed.
    var performed = Collected<String>()
    /// The gate that `later` waits for.
    var pause = Gate()
    /// Called with each intent that the interceptor judges.
    var judged: (@Sendable (Intent) -> Void)?

    var middleware: Middleware<Till> {
        guard let judged else { return Middleware() }
        return .intercepting { intent, _ in
            judged(intent)
            return intent
        }
    }

    func check(_ intent: Intent) -> Check? {
        guard case .buy(let item) = intent else { return nil }
        return { [prices] context in
            let price = try await prices("\(item) \(context.principal?.subject ?? "nobody")")
            return item == "gift" ? .execute : .perform(.bought(price: price))
        }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .order, .orderAndJam, .orderAndRefuse:
            let items = try turn.view(of: Trolley.self).items
            guard items > 0 else { throw Refusal(.invalid, code: "empty-basket", "There is nothing to order.") }
            turn.dispatch(.ordered(items))
            switch intent {
            case .orderAndJam: turn.send(.jam, to: Trolley.self)
            case .orderAndRefuse: turn.send(.refuseEmpty, to: Trolley.self)
            default: turn.send(.empty, to: Trolley.self)
            }
        case .stamp: turn.dispatch(.stamped(turn.now, turn.uuid()))
        case .buy: turn.dispatch(.ordered(0))
        case .ring(let seconds): turn.remind(id: "ring", after: .seconds(seconds), .ring)
        case .fuse(let refuses): turn.remind(id: "fuse", after: .seconds(1), refuses ? .refuse : .fail)
        case .hush: turn.cancelReminder("ring")
        case .later:
            turn.launch { [pause] work in
                try await pause.wait()
                await work.dispatch(.rang)
            }
        case .loop: turn.send(.loop, to: Till.self)
        case .nag:
            for number in 0..<40 { turn.remind(id: "\(number)", after: .seconds(60), .ring) }
            turn.send(.nag, to: Trolley.self)
        case .delegate:
            turn.launch { work in
                try await work.turn { (turn: inout Turn<Till>) throws in turn.send(.pack, to: Trolley.self) }
            }
        case .remind(let action): turn.remind(id: "it", after: .seconds(1), action)
        case .give(let items):
            turn.dispatch(.ordered(-items))
            turn.perform(.give(items: items), on: Trolley.self)
        case .alarm: for number in 0..<65 { turn.remind(id: "\(number)", after: .seconds(1), .ring) }
        case .who: turn.publish(.caller(name: "\(turn.principal?.subject ?? "nobody") in \(turn.session.id)"))
        }
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) throws {
        performed.append("\(action)")
        switch action {
        case .jam: turn.send(.jam, to: Trolley.self)
        case .loop: turn.send(.loop, to: Till.self)
        case .swell: turn.dispatch(.swollen)
        case .spoil: turn.dispatch(.spoiled)
        case .ring: turn.dispatch(.rang)
        case .fail: throw Broken()
        case .refuse: throw Refusal(.conflict, "Too late.")
        case .bought(let price): turn.dispatch(.ordered(price))
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .ordered(let items): state.orders.append(items)
        case .stamped(let time, let id):
            state.times.append(time)
            state.ids.append(id)
        case .rang: state.rings += 1
        case .swollen: state.text = String(repeating: "x", count: 10_000)
        case .spoiled: state.ratio = .infinity
        }
    }

    func onFailure(_ failure: Failure, _ turn: inout Turn<Self>) { failures.append("\(failure.stage)") }
}

/// Sessions with a basket and a till.
struct ProductFixture {
    let table: SessionTable
    let journal: HeldJournal
    let time: ManualTime
    let clock: ManualClock
    let session: Session
    let token: SessionToken
    let basket = FeatureID(name: "basket", key: nil)
    let till = FeatureID(name: "till", key: nil)

    init(
        till: Till = Till(), basket: Trolley = Trolley(), kept: MemoryJournal = MemoryJournal(),
        time: ManualTime = ManualTime(), _ change: (inout SessionLimits) -> Void = { _ in },
        executor: (any TaskExecutor)? = nil, report: @escaping @Sendable (StoreReport) -> Void = { _ in }
    ) throws {
        var limits = SessionLimits.patient
        change(&limits)
        (journal, clock, self.time) = (HeldJournal(kept), ManualClock(), time)
        table = SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry([FeatureDefinition(basket), FeatureDefinition(till)]), limits: limits,
                journal: journal, time: time.source, clock: clock, executor: executor, report: report))
        (session, token) = try table.made(.bearer)
    }

    /// Sends an intent; the answer may come later.
    func post(
        _ body: String, to feature: FeatureID, name: IntentRequest.Name? = nil, principal: Principal? = nil,
        wait: Duration? = nil
    ) -> Answer {
        let answer = Answer()
        session.send(
            IntentRequest(
                body: Array(body.utf8), name: name, wait: wait, client: SessionClient(principal: principal)),
            to: feature
        ) { answer.set($0) }
        return answer
    }

    @discardableResult
    func send(
        _ body: String, to feature: FeatureID, principal: Principal? = nil
    ) throws -> Result<IntentOutcome, StoreError> {
        try #require(post(body, to: feature, principal: principal).value, "the answer was to come at once")
    }

    func state<State: Decodable>(
        _ type: State.Type, _ feature: FeatureID, for credential: Credential? = nil
    ) throws -> State {
        try WireJSON.decode(type, from: try session.stateNow(of: feature, for: credential).view)
    }

    var orders: [Int] { get throws { try state(Till.State.self, till).orders } }
    var items: Int { get throws { try state(Trolley.State.self, basket).items } }
}

extension Result where Failure == StoreError {
    var code: StoreError.Code? { if case .failure(let error) = self { error.code } else { nil } }
    var refusalCode: String? { if case .failure(let error) = self { error.refusalCode } else { nil } }
}
