import MVI
import MVITesting

/// Holds goods; a till reads and empties it.
struct Trolley: Feature {
    struct State: Codable, Equatable, Sendable { var items = 0 }
    enum Intent: Codable, Sendable { case put(items: Int), empty, jam, refuse }
    enum Message: Equatable, Sendable { case put(Int), emptied }
    struct Jammed: Error {}

    static let examples: [Intent] = [.put(items: 1), .empty, .jam, .refuse]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .put(let items): turn.dispatch(.put(items))
        case .empty: turn.dispatch(.emptied)
        case .jam: throw Jammed()
        case .refuse: throw Refusal(.conflict, code: "not-now", "Not now.", pointer: "/items")
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .put(let items): state.items += items
        case .emptied: state.items = 0
        }
    }

    func view(_ state: State) -> String { "\(state.items) items" }
}

/// Does a bit of all that needs a session: other stores, time, reminders.
struct Till: Feature {
    struct State: Codable, Equatable, Sendable {
        var orders: [String] = []
        var stamps: [String] = []
        var rings = 0
        var returns = 0
    }
    enum Intent: Codable, Sendable {
        case order(key: String?), send(Trolley.Intent), stamp(count: Int), remind(seconds: Int), hush, ring, fail
        case refuse(code: String), load, watch, weigh(Double), wait, callOff
    }
    enum Action: Codable, Equatable, Sendable { case ring(times: Int), fail, refuse(code: String) }
    enum Message: Equatable, Sendable {
        case ordered(String)
        case stamped(String, at: Timestamp)
        case rang(times: Int)
        case returned
    }
    struct Silent: Error {}

    static let examples: [Intent] = [.order(key: "a"), .stamp(count: 1), .remind(seconds: 1), .hush, .ring, .load]
    let initialState = State()
    var owner = ""
    var gate = Gate()

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) {
        if reason == .restored { turn.dispatch(.returned) }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .order(let key):
            turn.dispatch(.ordered(try turn.view(of: Trolley.self, key: key)))
            turn.send(.empty, to: Trolley.self, key: key)
        case .send(let intent):
            turn.dispatch(.ordered("sent"))
            turn.send(intent, to: Trolley.self)
        case .stamp(let count): for _ in 0..<count { turn.dispatch(.stamped(turn.uuid(), at: turn.now)) }
        case .remind(let seconds): turn.remind(id: "bell", after: .seconds(seconds), .ring(times: 2))
        case .hush: turn.cancelReminder("bell")
        case .ring: for times in 1...2 { turn.send(.ring(times: times)) }
        case .fail: turn.remind(id: "broken", after: .seconds(1), .fail)
        case .refuse(let code): throw Refusal(.invalid, code: code, "No.", pointer: "/code")
        case .load:
            turn.dispatch(.rang(times: 1))
            turn.launch(id: "load") { await $0.dispatch(.rang(times: 10)) }
        case .watch:
            turn.whileWatched(id: "look", grace: .seconds(5)) { work in
                await work.dispatch(.rang(times: 1))
                try await work.sleep(for: .seconds(1_000))
            }
        case .weigh: break
        case .wait: turn.launch(id: "wait") { [gate] _ in try await gate.wait() }
        case .callOff: turn.cancel("wait")
        }
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) throws {
        switch action {
        case .ring(let times): turn.dispatch(.rang(times: times))
        case .fail: throw Silent()
        case .refuse(let code): throw Refusal(.conflict, code: code, "No.")
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .ordered(let items): state.orders.append(items)
        case .stamped(let id, let time): state.stamps.append("\(id.suffix(2)) \(time)")
        case .rang(let times): state.rings += times
        case .returned: state.returns += 1
        }
    }
}
