/// Launched work of a feature or a part, with variants that delay, repeat or iterate its operation.
protocol ScheduledWork: Sendable {
    func sleep(for duration: Duration) async throws
    /// Tells the store that the first element of a sequence is handled.
    func noteFirstResult()
}

extension ScheduledWork {
    typealias Scheduled = @Sendable (Self) async throws -> Void

    /// Runs the operation after an interval.
    static func after(_ interval: Duration, _ operation: @escaping Scheduled) -> Scheduled {
        { work in
            try await work.sleep(for: interval)
            try await operation(work)
        }
    }

    /// Runs the operation after each interval.
    static func every(_ interval: Duration, _ operation: @escaping Scheduled) -> Scheduled {
        { work in
            while true {
                try await work.sleep(for: interval)
                try await operation(work)
            }
        }
    }

    /// Runs `onElement` for each element of a sequence that is created for this run.
    static func each<Elements: AsyncSequence & SendableMetatype>(
        _ makeSequence: @escaping @Sendable () async throws -> Elements,
        _ onElement: @escaping @Sendable (Elements.Element, Self) async throws -> Void
    ) -> Scheduled {
        { work in
            var isFirst = true
            for try await element in try await makeSequence() {
                try await onElement(element, work)
                if isFirst { work.noteFirstResult() }
                isFirst = false
            }
        }
    }
}

extension Work: ScheduledWork {}
extension PartWork: ScheduledWork {}
