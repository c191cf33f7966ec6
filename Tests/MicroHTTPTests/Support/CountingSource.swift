import Locking
import MicroHTTP

/// Sends numbers up to its writers' latest, and detects two threads in it at once.
final class CountingSource: StreamSource {
    private struct State {
        var reached = 0
        var shown = 0
        var handle: StreamHandle?
        var isInside = false
        var wasEnteredTwice = false
    }

    private let last: Int
    private let state = Lock(State())

    init(last: Int) {
        self.last = last
    }

    var wasEnteredTwice: Bool { state.withLock { $0.wasEnteredTwice } }

    /// Adds one number and wakes the stream. Returns false after the last one.
    func advance() -> Bool {
        let (handle, goesOn) = state.withLock { state in
            state.reached = min(state.reached + 1, last)
            return (state.handle, state.reached < last)
        }
        handle?.wake()
        return goesOn
    }

    func opened(_ stream: StreamHandle) { enter { $0.handle = stream } }

    func nextStep() -> StreamStep {
        enter { state in
            guard state.shown < state.reached else { return .wait }
            // A few at a time, for many steps.
            let end = min(state.reached, state.shown + 3)
            defer { state.shown = end }
            let text = Array((state.shown + 1...end).map { "\($0)\n" }.joined().utf8)
            return end == last ? .finish(text) : .write(text)
        }
    }

    func aged() {}

    func heartbeat() -> [UInt8]? { nil }

    func closed(_ reason: StreamEnd) { enter { $0.handle = nil } }

    private func enter<Result>(_ body: (inout State) -> Result) -> Result {
        state.withLock { state in
            if state.isInside { state.wasEnteredTwice = true }
            state.isInside = true
        }
        defer { state.withLock { $0.isInside = false } }
        return state.withLock { body(&$0) }
    }
}
