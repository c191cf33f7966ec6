import MVI
import MVITesting
import Testing

struct ExamplesTests {
    @Test("examples of all cases pass")
    func complete() {
        checkExamples(of: Counter.self)
        checkExamples(of: Single.self)
        checkExamples(of: Plain.self)
    }

    @Test("a feature without intents needs no examples, and its store performs what it is told")
    func told() async {
        checkExamples(of: Told.self)
        let store = TestStore(Told())
        await store.perform(.add(2))
        await store.receive(.added(2)) { $0.count = 2 }
        await store.finish()
    }

    @Test("a case without an example fails the test with its name, one with two as well")
    func incomplete() async {
        let texts = await failures { checkExamples(of: Incomplete.self) }
        #expect(
            texts == [
                "Incomplete.examples has more than one value for the case `second` of Intent: keep one.",
                "Incomplete.examples has no value for the case `third` of Intent: add one.",
                "Incomplete.labelExamples has no value for the case `said` of Label: add one.",
                "Incomplete.labelExamples has no value for the case `left` of Label: add one.",
            ])
    }

    @Test("no examples at all fail the test")
    func none() async {
        let texts = await failures { checkExamples(of: Empty.self) }
        #expect(
            texts == [
                "Empty.examples is empty: give one value for each case of Intent.",
                "Empty.examples has no value for the case `go` of Intent: add one.",
                "Empty.examples has no value for the case `come` of Intent: add one.",
                "Empty.labelExamples has no value for the case `only` of Label: add one.",
            ])
    }
}

private struct Incomplete: Feature {
    struct State: Codable, Equatable, Sendable {}
    enum Intent: Codable, Sendable { case first, second(of: Int), third(String, Int) }
    enum Label: Codable, Equatable, Sendable { case said(String), left }
    static let examples: [Intent] = [.first, .second(of: 2), .second(of: 3)]
    let initialState = State()
    func reduce(_ state: inout State, _ message: Intent) {}
}

private struct Empty: Feature {
    struct State: Codable, Equatable, Sendable {}
    enum Intent: Codable, Sendable { case go, come }
    enum Label: Codable, Equatable, Sendable { case only }
    static let examples: [Intent] = []
    let initialState = State()
    func reduce(_ state: inout State, _ message: Intent) {}
}

private struct Told: Feature {
    struct State: Codable, Equatable, Sendable { var count = 0 }
    typealias Intent = Never
    enum Action: Sendable { case add(Int) }
    enum Message: Sendable, Equatable { case added(Int) }
    let initialState = State()
    func perform(_ action: Action, _ turn: inout Turn<Self>) {
        if case .add(let count) = action { turn.dispatch(.added(count)) }
    }
    func reduce(_ state: inout State, _ message: Message) {
        if case .added(let count) = message { state.count += count }
    }
}

private struct Single: Feature {
    struct State: Codable, Equatable, Sendable {}
    enum Intent: Codable, Sendable { case only }
    static let examples: [Intent] = [.only]
    let initialState = State()
    func reduce(_ state: inout State, _ message: Intent) {}
}

/// An intent that is no enum.
private struct Plain: Feature {
    struct State: Codable, Equatable, Sendable {}
    struct Intent: Codable, Sendable {
        var text: String?
        var count = 0
    }
    static let examples = [Intent(), Intent(text: "a")]
    let initialState = State()
    func reduce(_ state: inout State, _ message: Intent) {}
}
