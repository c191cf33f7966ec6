import FoundationEssentials
import MVITesting
import Testing

import MVI

struct Tally: Feature {
    struct State: Codable, Equatable, Sendable { var count = 0 }
    enum Intent: Codable, Sendable { case increment, add(amount: Int) }
    static let examples: [Intent] = [.increment, .add(amount: 5)]
    let initialState = State()

    func reduce(_ state: inout State, _ intent: Intent) {
        switch intent {
        case .increment: state.count &+= 1
        case .add(let amount): state.count &+= amount
        }
    }
}

public protocol NumberRepository: Sendable {
    func next() async throws -> Int
}

public struct Counter: Feature {
    public struct State: Codable, Equatable, Sendable {
        var count = 0
        var isLoading = false
    }
    public enum Intent: Codable, Sendable { case increment, load }
    public enum Message: Equatable, Sendable {
        case incremented, loadStarted, loaded(Int), loadFailed
    }
    public enum Label: Codable, Equatable, Sendable {
        case milestone(count: Int), toast(text: String)
    }

    public static let examples: [Intent] = [.increment, .load]
    public static let labelExamples: [Label] = [
        .milestone(count: 10), .toast(text: "No number today"),
    ]
    public let initialState = State()
    let numbers: any NumberRepository

    public init(numbers: any NumberRepository) { self.numbers = numbers }

    public func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .increment:
            turn.dispatch(.incremented)
            if turn.state.count.isMultiple(of: 10) {
                turn.publish(.milestone(count: turn.state.count))
            }
        case .load:
            turn.dispatch(.loadStarted)
            turn.launch(id: "load", policy: .cancelPrevious) { [numbers] work in
                do {
                    await work.dispatch(.loaded(try await numbers.next()))
                } catch {
                    await work.turn { turn in
                        turn.dispatch(.loadFailed)
                        turn.publish(.toast(text: "No number today"))
                    }
                }
            }
        }
    }

    public func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .incremented: state.count &+= 1
        case .loadStarted: state.isLoading = true
        case .loaded(let count): state = State(count: count)
        case .loadFailed: state.isLoading = false
        }
    }
}

struct FixedNumbers: NumberRepository {
    var number: Int?
    struct None: Error {}
    func next() async throws -> Int {
        guard let number else { throw None() }
        return number
    }
}

@Suite struct CounterTests {
    @Test("the view shows the loading, then the number")
    func load() async {
        let store = TestStore(Counter(numbers: FixedNumbers(number: 42)))
        await store.send(.load) { $0.isLoading = true }
        await store.receive(.loaded(42)) { $0 = Counter.State(count: 42) }
        await store.finish()
    }

    @Test("every intent and every label has an example")
    func examples() { checkExamples(of: Counter.self) }
}

struct Ledger: Feature {
    struct State: Codable, Equatable, Sendable { var cents = 0 }
    enum Intent: Codable, Sendable { case deposit(cents: Int) }
    static let examples: [Intent] = [.deposit(cents: 4_200)]
    let initialState = State()

    func reduce(_ state: inout State, _ intent: Intent) {
        switch intent {
        case .deposit(let cents): state.cents &+= cents
        }
    }
}

func record(_ url: URL) async throws {
    let store = TestStore(Ledger())
    await store.send(.deposit(cents: 4_200)) { $0.cents = 4_200 }
    try await Data(store.fixture().json).write(to: url)
    await store.finish()
}

func replay(_ url: URL) throws {
    let fixture = try Fixture(Array(Data(contentsOf: url)))
    let states = try fixture.replay(Ledger())
    #expect(states.last?.cents == 4_200)
}
