import MVI
import MVITesting

struct Broken: Error, Equatable {}

/// A feature with a bit of everything.
struct Counter: Feature {
    struct State: Codable, Equatable, Sendable {
        var count = 0
        var isLoading = false
    }
    enum Intent: Codable, Equatable, Sendable { case increment, add(amount: Int), load, reset, fail, tick, stop }
    enum Message: Codable, Equatable, Sendable { case changed(by: Int), loadStarted, loaded(Int), loadFailed }
    enum Label: Codable, Equatable, Sendable { case milestone(count: Int) }

    let initialState = State()
    static let examples: [Intent] = [.increment, .add(amount: 5), .load, .reset, .fail, .tick, .stop]
    static let labelExamples: [Label] = [.milestone(count: 10)]
    var number: @Sendable () async throws -> Int = { 42 }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .increment: turn.dispatch(.changed(by: 1))
        case .add(let amount): turn.dispatch(.changed(by: amount))
        case .load:
            turn.dispatch(.loadStarted)
            turn.launch(id: "load", policy: .cancelPrevious) { [number] work in
                do { try await work.dispatch(.loaded(number())) } catch { await work.dispatch(.loadFailed) }
            }
        case .reset: break
        case .fail:
            turn.dispatch(.changed(by: 100))
            throw Broken()
        case .tick: turn.timer(id: "tick", every: .seconds(1)) { await $0.dispatch(.changed(by: 1)) }
        case .stop: turn.cancel("tick")
        }
        if turn.state.count != 0, turn.state.count.isMultiple(of: 10) {
            turn.publish(.milestone(count: turn.state.count))
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .changed(let amount): state.count += amount
        case .loadStarted: state.isLoading = true
        case .loaded(let number): state = State(count: number)
        case .loadFailed: state.isLoading = false
        }
    }
}

/// A count, with a call whenever it is viewed.
struct Viewed: Feature {
    struct State: Codable, Equatable, Sendable { var count = 0 }
    enum Intent: Codable, Sendable { case up }
    static let examples: [Intent] = [.up]
    let initialState = State()
    var own = Middleware<Viewed>()
    let onView: @Sendable (Int) -> Void

    init(own: Middleware<Viewed> = Middleware(), onView: @escaping @Sendable (Int) -> Void) {
        self.own = own
        self.onView = onView
    }

    var middleware: Middleware<Viewed> { own }
    func reduce(_ state: inout State, _ intent: Intent) { state.count += 1 }
    func view(_ state: State) -> Int {
        onView(state.count)
        return state.count
    }
}
