import MVITesting
import Testing

@testable import DemoFeatures

@Suite(.timeLimit(.minutes(10))) struct DemoConditionsTests {
    private func outcomes(_ conditions: DemoConditions, _ count: Int) async -> [Bool] {
        var result: [Bool] = []
        for _ in 0..<count {
            do {
                try await conditions.pass()
                result.append(true)
            } catch {
                result.append(false)
            }
        }
        return result
    }

    @Test(arguments: [
        (DemoConditions.Failures.none, [true, true, true, true]),
        (.every(1), [false, false, false, false]),
        (.every(3), [true, true, false, true]),
        (.every(0), [true, true, true, true]),
        (.every(-2), [true, true, true, true]),
        (.rate(0), [true, true, true, true]),
        (.rate(-3), [true, true, true, true]),
        (.rate(.nan), [true, true, true, true]),
        (.rate(1), [false, false, false, false]),
        (.rate(7), [false, false, false, false]),
    ])
    func `calls fail as configured`(failures: DemoConditions.Failures, expected: [Bool]) async {
        #expect(await outcomes(DemoConditions(failures: failures), 4) == expected)
    }

    @Test func `a call takes at least the latency`() async throws {
        let clock = ManualClock()
        let conditions = DemoConditions(latency: .milliseconds(300), clock: clock)
        async let call: Void = conditions.pass()
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .milliseconds(299))
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .milliseconds(1))
        try await call
    }

    @Test func `a canceled call ends at once with a cancellation error`() async {
        let clock = ManualClock()
        let conditions = DemoConditions(latency: .seconds(60), failures: .every(1), clock: clock)
        let call = Task { try await conditions.pass() }
        await clock.sleepers(atLeast: 1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
    }
}
