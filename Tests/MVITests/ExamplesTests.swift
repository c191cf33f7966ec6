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
