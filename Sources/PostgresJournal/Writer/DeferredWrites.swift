import SessionJournal

/// The outcome of an attempt to write.
enum Outcome {
    case over(Completion)
    /// Another transaction holds its row. Nothing is stored.
    case locked

    /// Nil for a write that is retried.
    var completion: Completion? {
        if case .over(let completion) = self { completion } else { nil }
    }
}

/// Writes whose rows other transactions hold, with the times of their retries. A lane's other writes do not wait.
struct DeferredWrites {
    private struct Entry {
        let write: PostgresEngine.Ready<Write>
        /// The time of the first attempt.
        let since: ContinuousClock.Instant
        var due: ContinuousClock.Instant
        var tries = 1
    }

    private var entries: [Schedule<Request>.ID: Entry] = [:]

    /// The pause after the first attempt. It doubles with each further one.
    private static let firstPause: Duration = .milliseconds(25)
    private static let longestPause: Duration = .milliseconds(500)

    /// The time of the next retry; nil if there is none.
    var nextDue: ContinuousClock.Instant? { entries.values.lazy.map(\.due).min() }

    /// Notes a failed attempt. Returns false and removes the write if its waiting time is over.
    mutating func add(_ write: PostgresEngine.Ready<Write>, now: ContinuousClock.Instant, atMost time: Duration) -> Bool
    {
        var entry = entries[write.id] ?? Entry(write: write, since: now, due: now, tries: 0)
        guard now - entry.since < time else {
            entries[write.id] = nil
            return false
        }
        entry.due = now + min(Self.firstPause * (1 << min(entry.tries, 10)), Self.longestPause)
        entry.tries += 1
        entries[write.id] = entry
        return true
    }

    /// Returns a due task: appends together, other writes alone. A write that is not added again is over.
    mutating func take(now: ContinuousClock.Instant) -> PostgresEngine.Task? {
        let due = entries.values.filter { $0.due <= now }.sorted { $0.due < $1.due }.map(\.write)
        guard let first = due.first else { return nil }
        switch first.value.work {
        case .append:
            return .group(due.filter { write in if case .append = write.value.work { true } else { false } })
        case .statement: return .statements([first])
        case .steps: return .steps(first)
        case .streams: return .streams([first])
        }
    }

    /// Removes answered writes.
    mutating func remove(_ ids: some Sequence<Schedule<Request>.ID>) { for id in ids { entries[id] = nil } }

    mutating func takeAll() -> [PostgresEngine.Ready<Write>] {
        defer { entries = [:] }
        return entries.values.map(\.write)
    }
}
