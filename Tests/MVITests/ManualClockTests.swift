import MVITesting
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ManualClockTests {
    @Test("sleepers wake in the order of their deadlines, and only when the clock gets there")
    func order() async {
        let clock = ManualClock()
        let executor = TestExecutor()
        let woken = Collected<Int>()
        for (index, seconds) in [3, 1, 2, 1].enumerated() {
            Task(executorPreference: executor) {
                try await clock.sleep(for: .seconds(seconds))
                woken.append(index)
            }
        }
        await clock.sleepers(atLeast: 4)
        await clock.advance(by: .milliseconds(999), running: executor)
        #expect(woken.all.isEmpty)
        await clock.advance(by: .seconds(1), running: executor)
        #expect(woken.all == [1, 3])
        clock.run()
        await executor.idle()
        #expect(woken.all == [1, 3, 2, 0])
        #expect(clock.now == ManualClock.Instant(offset: .seconds(3)))
    }

    @Test("work that sleeps again is woken again within one advance")
    func again() async {
        let clock = ManualClock()
        let executor = TestExecutor()
        let ticks = Collected<Duration>()
        let task = Task(executorPreference: executor) {
            while true {
                try await clock.sleep(for: .seconds(1))
                ticks.append(clock.now.offset)
            }
        }
        await clock.advance(by: .milliseconds(3500), running: executor)
        #expect(ticks.all == [.seconds(1), .seconds(2), .seconds(3)])
        #expect(clock.now.offset == .milliseconds(3500))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test("a deadline that has passed does not wait")
    func past() async throws {
        let clock = ManualClock()
        clock.advance(by: .seconds(5))
        try await clock.sleep(until: ManualClock.Instant(offset: .seconds(5)))
    }

    @Test("a task that is cancelled before or while it sleeps throws and is counted no more")
    func cancelled() async {
        let clock = ManualClock()
        let sleeping = Task { try await clock.sleep(for: .seconds(1)) }
        await clock.sleepers(atLeast: 1)
        sleeping.cancel()
        await #expect(throws: CancellationError.self) { try await sleeping.value }
        let gate = Gate()
        let early = Task {
            await gate.waitDespiteCancellation()
            try await clock.sleep(for: .seconds(1))
        }
        early.cancel()
        gate.open()
        await #expect(throws: CancellationError.self) { try await early.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test("many who sleep and are cancelled at once all end, each once")
    func manyCancelled() async {
        let clock = ManualClock()
        let ended = Collected<Bool>()
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<200 {
                group.addTask {
                    let task = Task { try await clock.sleep(for: .seconds(1 + index % 3)) }
                    if index.isMultiple(of: 2) { await Task.yield() }
                    task.cancel()
                    ended.append((try? await task.value) == nil)
                }
            }
        }
        #expect(ended.all == Array(repeating: true, count: 200))
        #expect(clock.sleeperCount == 0)
    }
}

@Suite(.timeLimit(.minutes(10)))
struct GateTests {
    @Test("a gate lets everybody through once it is open, and tells who waits")
    func open() async throws {
        let gate = Gate()
        let through = Collected<Int>()
        let tasks = (0..<3).map { index in
            Task {
                try await gate.wait()
                through.append(index)
            }
        }
        await gate.waiters(atLeast: 3)
        #expect(through.all.isEmpty)
        gate.open()
        for task in tasks { try await task.value }
        try await gate.wait()
        #expect(through.all.count == 3)
        #expect(gate.isOpen)
    }

    @Test("who is cancelled at a gate throws")
    func cancelled() async {
        let gate = Gate()
        let task = Task { try await gate.wait() }
        await gate.waiters()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}

@Suite(.timeLimit(.minutes(10)))
struct TestExecutorTests {
    @Test("a paused executor runs one step at a time, in order")
    func steps() async {
        let executor = TestExecutor(paused: true)
        let ran = Collected<Int>()
        for index in 0..<3 {
            Task(executorPreference: executor) { ran.append(index) }
        }
        await executor.held(atLeast: 3)
        #expect(ran.all.isEmpty)
        await executor.step()
        #expect(ran.all == [0])
        executor.resume()
        await executor.idle()
        #expect(ran.all == [0, 1, 2])
        #expect(await executor.step() == false)
    }
}

@Suite("A wait with a deadline")
struct WaitTests {
    @Test("sees what holds at its end, even without a signal")
    func late() async {
        // As if the waiting task did not run between the signal and the deadline.
        let end = ContinuousClock.now + .milliseconds(50)
        #expect(await Signal().wait(atMost: .milliseconds(50)) { ContinuousClock.now >= end })
    }
}
