import SessionJournal

/// How a write ended that was tried.
enum Outcome {
    case over(Completion)
    /// Another transaction holds its row. Nothing of it is kept.
    case locked

    /// Nil for one that is to be tried again.
    var completion: Completion? {
        if case .over(let completion) = self { completion } else { nil }
    }
}

/// Writes whose rows other transactions hold, each with the time of its next try: the others of a lane do not wait for them.
struct DeferredWrites {
    private struct Entry {
        let write: PostgresEngine.Ready<Write>
        /// When it was tried first.
        let since: ContinuousClock.Instant
        var due: ContinuousClock.Instant
        var tries = 1
    }

    private var entries: [Schedule<Request>.ID: Entry] = [:]

    /// The pause after the first try; each further one is twice as long.
    private static let firstPause: Duration = .milliseconds(25)
    private static let longestPause: Duration = .milliseconds(500)

    /// When the next try is due; nil if there is none.
    var nextDue: ContinuousClock.Instant? { entries.values.lazy.map(\.due).min() }

    /// Notes that a write was tried in vain; false if it has waited for long enough, and is forgotten.
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

    /// What is due: appends together, anything else by itself. A write that is not added again is over.
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

    /// A write was answered.
    mutating func remove(_ ids: some Sequence<Schedule<Request>.ID>) { for id in ids { entries[id] = nil } }

    mutating func takeAll() -> [PostgresEngine.Ready<Write>] {
        defer { entries = [:] }
        return entries.values.map(\.write)
    }
}
