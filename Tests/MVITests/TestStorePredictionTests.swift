import MVI
import MVITesting
import Testing

@Suite("A prediction in a test", .timeLimit(.minutes(10)))
struct TestStorePredictionTests {
    private func send(_ predict: @escaping TestStore<Counter>.Predict) async -> [String] {
        await failures {
            let store = TestStore(Counter(), exhaustive: false, predict: predict)
            await store.send(.add(amount: 5))
            await store.send(.load)
            await store.finish()
        }
    }

    @Test func `one that gives the view after the intent's own turn passes, and so does one that throws`() async {
        let texts = await send { state, intent in
            switch intent {
            case .add(let amount): state.count += amount
            case .load: state.isLoading = true
            default: throw Broken()
            }
        }
        #expect(texts.isEmpty)
    }

    @Test func `one that gives another view fails the test with the difference`() async throws {
        let texts = await send { state, intent in
            guard case .add(let amount) = intent else { throw Broken() }
            state.count += amount + 1
        }
        let text = try #require(texts.first)
        #expect(texts.count == 1 && text.contains("- predicted, + actual"))
        #expect(text.contains("count: 6") && text.contains("count: 5"), "\(text)")
    }
}
