import Locking

/// Runs tasks on the thread of the test, one job at a time, in an order that the test chooses.
final class SteppedExecutor: TaskExecutor, Sendable {
    private let jobs = Lock<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    var waiting: Int { jobs.withLock { $0.count } }

    /// Runs one of the waiting jobs; returns false if there is none.
    func step(_ random: inout SplitMix) -> Bool {
        let next = jobs.withLock { jobs -> UnownedJob? in
            jobs.isEmpty ? nil : jobs.remove(at: Int(random.next() % UInt64(jobs.count)))
        }
        next?.runSynchronously(on: asUnownedTaskExecutor())
        return next != nil
    }
}
