import MVITesting
import Testing

@testable import DemoFeatures

@Suite struct CounterTests {
    private func makeStore(
        count: Int = 0, numbers: StubNumbers = StubNumbers(), sourceLocation: SourceLocation = #_sourceLocation
    ) -> TestStore<Counter> {
        TestStore(
            Counter(numbers: numbers), state: Counter.State(count: count), sourceLocation: sourceLocation)
    }

    @Test func `every intent and label has an example`() { checkExamples(of: Counter.self) }

    @Test func `counting up, down and by an amount`() async {
        let store = makeStore()
        await store.send(.increment)
        await store.receive(.changed(by: 1)) { $0.count = 1 }
        await store.send(.decrement)
        await store.receive(.changed(by: -1)) { $0.count = 0 }
        await store.send(.add(amount: 7))
        await store.receive(.changed(by: 7)) { $0.count = 7 }
        await store.finish()
    }

    @Test(arguments: [(9, Counter.Intent.increment, 10), (-9, .decrement, -10), (3, .add(amount: 17), 20)])
    func `an intent that brings the count to a multiple of ten publishes a milestone`(
        before: Int, intent: Counter.Intent, after: Int
    ) async {
        let store = makeStore(count: before)
        await store.send(intent)
        await store.receive(.changed(by: after - before)) { $0.count = after }
        await store.expect(.milestone(count: after))
        await store.finish()
    }

    @Test(arguments: [(1, Counter.Intent.decrement, 0), (10, .add(amount: 0), 10), (4, .increment, 5)])
    func `zero, an unchanged count and all others are no milestone`(
        before: Int, intent: Counter.Intent, after: Int
    ) async {
        let store = makeStore(count: before)
        await store.send(intent)
        await store.receive(.changed(by: after - before), after == before ? nil : { $0.count = after })
        await store.finish()
    }

    @Test func `loading sets the count, without a milestone`() async {
        let store = makeStore(count: 1, numbers: StubNumbers { 40 })
        await store.send(.load)
        await store.receive(.loadStarted) { $0.isLoading = true }
        await store.receive(.loaded(40)) {
            $0.count = 40
            $0.isLoading = false
        }
        await store.finish()
    }

    @Test func `a load that fails keeps the count and shows a toast`() async {
        let store = makeStore(count: 3)
        await store.send(.load)
        await store.receive(.loadStarted) { $0.isLoading = true }
        await store.receive(.loadFailed) { $0.isLoading = false }
        await store.expect(.toast(text: "No number today"))
        await store.finish()
    }

    @Test func `counting continues while a number is loading`() async {
        let gate = Gate()
        let store = makeStore(
            count: 8,
            numbers: StubNumbers {
                try await gate.wait()
                return 42
            })
        await store.send(.load)
        await store.receive(.loadStarted) { $0.isLoading = true }
        await store.send(.add(amount: 2))
        await store.receive(.changed(by: 2)) { $0.count = 10 }
        await store.expect(.milestone(count: 10))
        gate.open()
        await store.receive(.loaded(42)) {
            $0.count = 42
            $0.isLoading = false
        }
        await store.finish()
    }

    @Test func `a second load replaces the first`() async {
        let first = Gate()
        let calls = Sequenced<Int>(.success(1), .success(2))
        let store = makeStore(
            numbers: StubNumbers {
                let call = try calls.next()
                if call == 1 { await first.waitDespiteCancellation() }
                return call
            })
        await store.send(.load)
        await store.receive(.loadStarted) { $0.isLoading = true }
        await store.send(.load)
        await store.receive(.loadStarted)
        await store.receive(.loaded(2)) {
            $0.count = 2
            $0.isLoading = false
        }
        first.open()
        await store.finish()
    }

    @Test(arguments: [
        (Counter.limits.upperBound, Counter.Intent.add(amount: .max), Counter.limits.upperBound),
        (0, .add(amount: .max), Counter.limits.upperBound),
        (Counter.limits.upperBound, .increment, Counter.limits.upperBound),
        (Counter.limits.lowerBound, .add(amount: .min), Counter.limits.lowerBound),
        (Counter.limits.lowerBound, .decrement, Counter.limits.lowerBound),
        (Counter.limits.lowerBound, .add(amount: .max), Counter.limits.upperBound),
    ])
    func `an amount beyond the limits stops at the limit`(before: Int, intent: Counter.Intent, after: Int) async {
        let store = makeStore(count: before)
        store.exhaustive(false)
        await store.send(intent)
        #expect(store.state.count == after)
        await store.finish()
    }

    @Test func `a store saved while loading loads again`() async {
        let store = TestStore(
            Counter(numbers: StubNumbers { 7 }), state: Counter.State(count: 5, isLoading: true))
        await store.receive(.loaded(7)) {
            $0.count = 7
            $0.isLoading = false
        }
        await store.finish()
    }
}
