import Locking
import MVI
import SessionJournal

/// What tells a stream's connection that there may be something to write.
package protocol StreamWaker: AnyObject, Sendable {
    /// Called from any thread, never under a lock; must not block.
    func wake()
}

/// What a stream shows.
package enum StreamFilter: Sendable, Equatable {
    /// Every store that the session has, and those it makes later.
    case all
    /// These, each once.
    case features([FeatureID])

    /// The same without some features.
    func without(_ excluded: [FeatureID]) -> StreamFilter {
        guard !excluded.isEmpty, case .features(let features) = self else { return self }
        return .features(features.filter { !excluded.contains($0) })
    }

    func shows(_ feature: FeatureID) -> Bool {
        switch self {
        case .all: true
        case .features(let features): features.contains(feature)
        }
    }
}

/// A session's open streams, in the order of their numbers, which is that in which they were opened.
struct StreamTable {
    private var streams: [StreamState] = []
    /// What one of several streams was told last, for the others.
    var lastStep: SharedStep?
    /// What streams were told since it was taken last.
    var tally = EventTally()

    var count: Int { streams.count }
    var isEmpty: Bool { streams.isEmpty }
    /// Whether a stream shows changes instead of whole view states.
    var showsChanges: Bool { streams.contains { $0.delta != nil } }
    var indices: Range<Int> { streams.indices }

    subscript(index: Int) -> StreamState {
        _read { yield streams[index] }
        _modify { yield &streams[index] }
    }

    /// Where a stream is, by bisection: a session may have very many.
    func index(of number: UInt64) -> Int? {
        let index = place(of: number)
        return index < streams.count && streams[index].number == number ? index : nil
    }

    /// Where a stream of that number is or belongs.
    private func place(of number: UInt64) -> Int {
        var (low, high) = (0, streams.count)
        while low < high {
            let middle = (low + high) / 2
            if streams[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The streams' numbers.
    var numbers: [UInt64] { streams.map(\.number) }

    /// Mostly the last; not where two are opened at once.
    mutating func add(_ stream: StreamState) { streams.insert(stream, at: place(of: stream.number)) }

    mutating func remove(_ number: UInt64) -> StreamState? { index(of: number).map { streams.remove(at: $0) } }

    /// Changes the streams that show a feature, and has their connections told; but of those that were told to go, which
    /// show nothing of what comes later.
    mutating func change(showing feature: FeatureID, _ body: (inout StreamState) -> Void) {
        for index in streams.indices where streams[index].shows(feature) {
            if streams[index].farewell == nil { streams[index].hasNews = true }
            body(&streams[index])
        }
    }

    /// A store's view state is to be shown; the first turn that changed it had the number `since`.
    mutating func markDirty(_ feature: FeatureID, since: UInt64) {
        lastStep = nil
        var conflated: UInt32 = 0
        change(showing: feature) { if !$0.markDirty(feature, since: since) { conflated += 1 } }
        tally.conflated &+= conflated
    }

    /// What the stream was told since the last call: each step is followed by one.
    mutating func takeTally(of number: UInt64) -> EventTally {
        var taken = EventTally()
        swap(&taken, &tally)
        if let index = index(of: number) { streams[index].events += taken.events }
        return taken
    }

    /// A store is gone.
    mutating func ended(_ feature: FeatureID) { change(showing: feature) { $0.storeEnded(feature) } }

    mutating func finish(
        _ reason: GoAwayReason, at last: StreamFarewell.Position, where isMeant: (StreamState) -> Bool = { _ in true }
    ) {
        change(isMeant) { $0.finish(reason, at: last) }
    }

    /// Ends streams whose client has lost its access: they write their farewell and nothing else.
    mutating func cut(_ reason: GoAwayReason, where isMeant: (StreamState) -> Bool) {
        change(isMeant) { $0.cut(reason) }
    }

    /// Changes the streams that are meant, and has their connections told.
    mutating func change(_ isMeant: (StreamState) -> Bool, _ body: (inout StreamState) -> Void) {
        for index in streams.indices where isMeant(streams[index]) {
            body(&streams[index])
            streams[index].hasNews = true
        }
    }

    /// The log is another one. What a stream had yet to write that was told to go is gone with the old one.
    mutating func reset(_ reason: ResetReason) {
        rename(reason)
        for index in streams.indices {
            if let farewell = streams[index].farewell { streams[index].cut(farewell.reason) }
            streams[index].reset = (reason, true)
            // Numbers of the old log say nothing of what waits in the new one.
            streams[index].dirty = []
            streams[index].nextLabel = 0
            streams[index].handedOut = []
        }
    }

    /// The log has another name, and goes on as it was here: labels go on, too.
    mutating func rename(_ reason: ResetReason) {
        lastStep = nil
        for index in streams.indices {
            streams[index].reset = (reason, streams[index].reset?.labelsLost ?? false)
            streams[index].delta = streams[index].delta.map { StreamDelta($0.form) }
            streams[index].hasNews = true
        }
    }

    /// Makes room for one more stream: the oldest are told to go. Those without a connection yet are told when it comes.
    mutating func supersede(limit: Int, of credential: Credential?, at last: StreamFarewell.Position) {
        var staying = streams.count { $0.farewell == nil && !$0.isOver && $0.credential === credential }
        for index in streams.indices where staying >= limit && streams[index].credential === credential {
            guard streams[index].farewell == nil, !streams[index].isOver else { continue }
            streams[index].finish(.superseded, at: last)
            streams[index].hasNews = true
            staying -= 1
        }
    }

    /// The streams that have news since the last call.
    mutating func takeWakers() -> ShortList<any StreamWaker> {
        var wakers: ShortList<any StreamWaker> = []
        for index in streams.indices where streams[index].hasNews {
            streams[index].hasNews = false
            if let waker = streams[index].waker { wakers.append(waker) }
        }
        return wakers
    }

    func isShown(_ feature: FeatureID) -> Bool { streams.contains { $0.shows(feature) && !$0.isOver } }

    /// The numbers of the streams that show the feature.
    func showing(_ feature: FeatureID) -> [UInt64] { streams.filter { $0.shows(feature) }.map(\.number) }

    /// Notes that a stream watches a store; false if the stream is closed.
    mutating func watches(_ number: UInt64, _ store: SessionStore) -> Bool {
        guard let index = index(of: number) else { return false }
        streams[index].watches(store)
        return true
    }
}
