import DequeModule
import MVI

/// Which jobs wait behind each other. The lanes of a queue take turns, and each has a bound of its own, so that none
/// crowds another out.
enum JobLane: Sendable {
    /// Intents, and what is ordered with them, such as disposals. One more than their bound is refused as busy.
    case intents
    /// Steps of launched work, turns of failures, bootstraps: what cannot be committed is run again later. Each suspends
    /// its caller, so there are as many as tasks of launched work, which `workLimit` bounds.
    case steps
    /// What clients want to see: stores that have to be loaded or made. Bounded as intents are.
    case opens
    /// What comes from no client: reminders, deliveries from outside the features, stores that the server needs itself.
    case server
}

/// Jobs that wait, in lanes that take turns.
struct JobLanes {
    /// How many jobs of the server's own wait at most.
    static let serverLimit = 1_024

    /// How many wait, in all lanes: asked before any of these is looked at.
    private(set) var count = 0
    private var intents: Deque<any QueueJob> = []
    private var steps: Deque<any QueueJob> = []
    private var opens: Deque<any QueueJob> = []
    private var server: Deque<any QueueJob> = []

    /// Adds a job as the last of its lane; returns why not if there is no room.
    ///
    /// - Parameter limit: how many of clients' jobs may wait in each of their lanes.
    mutating func append(_ job: any QueueJob, limit: Int) -> StoreError? {
        switch job.lane {
        case .intents:
            guard intents.count < limit else { return .tooManyJobs("intents") }
            intents.append(job)
        case .steps: steps.append(job)
        case .opens:
            guard opens.count < limit else { return .tooManyJobs("requests for stores") }
            opens.append(job)
        case .server:
            guard server.count < Self.serverLimit else { return .tooManyJobs("jobs of the server's own") }
            server.append(job)
        }
        count += 1
        return nil
    }

    /// Adds jobs as the first of the steps.
    mutating func prependSteps(_ jobs: [any QueueJob]) {
        for job in jobs.reversed() { steps.prepend(job) }
        count += jobs.count
    }

    /// Takes what is to run next: of each lane one in turn, at most so many.
    mutating func takeBatch(limit: Int) -> JobBatch? {
        guard count > 0, let first = intents.popFirst() ?? steps.popFirst() ?? opens.popFirst() ?? server.popFirst()
        else { return nil }
        // Mostly it is the only one.
        var others: ArraySlice<any QueueJob> = []
        count -= 1
        let limit = min(limit - 1, count)
        while others.count < limit {
            if let job = steps.popFirst() { others.append(job) }
            if others.count < limit, let job = opens.popFirst() { others.append(job) }
            if others.count < limit, let job = server.popFirst() { others.append(job) }
            if others.count < limit, let job = intents.popFirst() { others.append(job) }
        }
        count -= others.count
        return JobBatch(first: first, others: others)
    }

    /// All that wait.
    var all: [any QueueJob] { Array(intents) + steps + opens + server }
}

extension StoreError {
    fileprivate static func tooManyJobs(_ what: String) -> StoreError {
        StoreError(.busy, "Too many \(what) are already waiting.")
    }
}
