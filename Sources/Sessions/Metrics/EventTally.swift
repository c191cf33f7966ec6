import CoreMetrics

/// What one step of a stream told its client, counted under the session's lock and added to the metrics after it.
struct EventTally {
    var states: UInt32 = 0
    var patches: UInt32 = 0
    var labels: UInt32 = 0
    /// Labels among them that were told before.
    var replayed: UInt32 = 0
    var others: UInt32 = 0
    /// States that a stream was not told, since newer ones took their place.
    var conflated: UInt32 = 0
    var reset: ResetReason?

    var isEmpty: Bool { states | patches | labels | others | conflated == 0 }

    /// All events.
    var events: UInt64 { UInt64(states) + UInt64(patches) + UInt64(labels) + UInt64(others) }

    /// The states and labels that were told since.
    func told(since before: EventTally) -> EventTally {
        var tally = EventTally()
        tally.states = states - before.states
        tally.patches = patches - before.patches
        tally.labels = labels - before.labels
        tally.replayed = replayed - before.replayed
        return tally
    }

    mutating func add(_ other: EventTally) {
        states += other.states
        patches += other.patches
        labels += other.labels
        replayed += other.replayed
    }
}

/// Events by their kind.
struct EventCounters: Sendable {
    private let states: any CounterHandler
    private let patches: any CounterHandler
    private let labels: any CounterHandler
    private let others: any CounterHandler
    let pings: any CounterHandler

    init(_ factory: any MetricsFactory) {
        func counter(_ type: String) -> any CounterHandler {
            factory.makeCounter(label: "mvi_events_total", dimensions: [("type", type)])
        }
        (states, patches, labels) = (counter("state"), counter("patch"), counter("label"))
        (others, pings) = (counter("control"), counter("ping"))
    }

    func count(_ tally: EventTally) {
        if tally.states > 0 { states.increment(by: Int64(tally.states)) }
        if tally.patches > 0 { patches.increment(by: Int64(tally.patches)) }
        if tally.labels > 0 { labels.increment(by: Int64(tally.labels)) }
        if tally.others > 0 { others.increment(by: Int64(tally.others)) }
    }
}
