import DequeModule
import Dispatch
import Locking
import SessionJournal

/// What the reader is asked for.
struct Read: Sendable {
    enum Item: Sendable {
        case load(TokenHash, now: Duration, Done<SessionLoad>)
        case stores([FeatureID], of: SessionKey, Done<[StoredStore]>)
        case export(String, Done<SessionExport?>)
    }

    let item: Item
    /// The ticket that the writer must be done with first.
    var needs: UInt64
    /// Whether `needs` takes account of the session that was found.
    var knowsSession = false
}

/// What waits for the reader.
final class ReadQueue: Sendable {
    private struct State {
        var waiting: Deque<Read> = []
        /// How many were handed over and are not done.
        var unfinished = 0
        var isAsleep = false
        var isEnding = false
        var isPausing = false
    }

    private let limit: Int
    private let state = Lock(State())
    private let signal = DispatchSemaphore(value: 0)
    private let hasPaused = DispatchSemaphore(value: 0)
    private let goesOn = DispatchSemaphore(value: 0)
    /// Signalled when the reader let go of its files.
    let hasEnded = DispatchSemaphore(value: 0)

    init(limit: Int) { self.limit = limit }

    /// Takes a read; says why if it does not.
    func hand(_ read: Read) -> JournalFailure? {
        let (refusal, wakes) = state.withLock { state -> (JournalFailure?, Bool) in
            if state.isEnding { return (.closed, false) }
            if state.unfinished >= limit { return (.tooManyReads, false) }
            state.unfinished += 1
            state.waiting.append(read)
            defer { state.isAsleep = false }
            return (nil, state.isAsleep)
        }
        if wakes { signal.signal() }
        return refusal
    }

    func wake() { signal.signal() }

    /// Returns when the reader has let go of its files; it goes on after `resume`, and opens them anew.
    ///
    /// Connections of one process share the log's index: opened for reading only by one, it is so for all.
    func pause() {
        state.withLock { $0.isPausing = true }
        signal.signal()
        hasPaused.wait()
    }

    func resume() { goesOn.signal() }

    /// Ends the reader when it has done what waits.
    func end() {
        state.withLock { $0.isEnding = true }
        signal.signal()
    }

    // MARK: The reader

    /// What waits; whether there comes no more.
    func take() -> (reads: Deque<Read>, isEnding: Bool) {
        state.withLock { state in
            defer { state.waiting = [] }
            state.isAsleep = state.waiting.isEmpty
            return (state.waiting, state.isEnding)
        }
    }

    /// Pauses if it is to; `release` lets go of the files.
    func pauseIfAsked(_ release: () -> Void) {
        let isPausing = state.withLock { state in
            defer { state.isPausing = false }
            return state.isPausing
        }
        guard isPausing else { return }
        release()
        hasPaused.signal()
        goesOn.wait()
    }

    func wait() { signal.wait() }

    func finishedOne() { state.withLock { $0.unfinished -= 1 } }
}

extension JournalFailure {
    fileprivate static let tooManyReads = JournalFailure(
        .unavailable, "Too many sessions are being loaded; the journal's disk does not keep up.")
}
