import Locking

/// The simulated latency and failures of the demo's services, so that people see loading and error states.
package struct DemoConditions: Sendable {
    /// The calls that fail.
    package enum Failures: Sendable, Equatable {
        case none
        /// Random calls: 0.2 is one in five. Below 0 counts as 0, above 1 as 1.
        case rate(Double)
        /// Each nth call: 1 is every call, 3 the third, the sixth, … Below 1 counts as none.
        case every(Int)
    }

    private let latency: Duration
    private let failures: Failures
    private let clock: any Clock<Duration>
    private let calls = Lock(0)

    /// - Parameters:
    ///   - latency: the shortest duration of each call of a service.
    ///   - clock: the clock of that delay.
    package init(
        latency: Duration = .zero, failures: Failures = .none, clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.latency = latency
        self.failures = failures
        self.clock = clock
    }

    /// Waits, then throws `DemoFailure` if this call is one that fails, or `CancellationError` if the calling task is
    /// canceled meanwhile.
    func pass() async throws {
        if latency > .zero { try await clock.sleep(for: latency) }
        try Task.checkCancellation()
        if isTurnToFail() { throw DemoFailure() }
    }

    private func isTurnToFail() -> Bool {
        switch failures {
        case .none: return false
        case .rate(let rate): return Double.random(in: 0..<1) < rate
        case .every(let period):
            let call = calls.withLock { calls in
                calls &+= 1
                return calls
            }
            return period >= 1 && call.isMultiple(of: period)
        }
    }
}

/// A simulated failure.
struct DemoFailure: Error, CustomStringConvertible {
    var description: String { "the demo is configured to let some calls fail" }
}
