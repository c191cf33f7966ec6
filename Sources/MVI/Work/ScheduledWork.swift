/// Launched work of a feature or of a part, with the ways to run its operation later, again, or for a sequence.
protocol ScheduledWork: Sendable {
    func sleep(for duration: Duration) async throws
}

extension ScheduledWork {
    typealias Scheduled = @Sendable (Self) async throws -> Void

    /// Runs the operation when the interval has passed.
    static func after(_ interval: Duration, _ operation: @escaping Scheduled) -> Scheduled {
        { work in
            try await work.sleep(for: interval)
            try await operation(work)
        }
    }

    /// Runs the operation each time the interval has passed.
    static func every(_ interval: Duration, _ operation: @escaping Scheduled) -> Scheduled {
        { work in
            while true {
                try await work.sleep(for: interval)
                try await operation(work)
            }
        }
    }

    /// Runs `onElement` for each element of a sequence that is made for this run.
    static func each<Elements: AsyncSequence & SendableMetatype>(
        _ makeSequence: @escaping @Sendable () async throws -> Elements,
        _ onElement: @escaping @Sendable (Elements.Element, Self) async throws -> Void
    ) -> Scheduled {
        { work in
            for try await element in try await makeSequence() { try await onElement(element, work) }
        }
    }
}

extension Work: ScheduledWork {}
extension PartWork: ScheduledWork {}
