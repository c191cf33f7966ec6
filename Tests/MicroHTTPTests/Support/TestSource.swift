import Locking
import MicroHTTP

/// A source with given steps that records its calls.
final class TestSource: StreamSource {
    private struct State {
        var steps: [StreamStep]
        var handle: StreamHandle?
        var opened = 0
        var asked = 0
        var aged = 0
        var ends: [StreamEnd] = []
        var beat: [UInt8]?
        var dropsUnsent = false
    }

    private let state: Lock<State>

    /// Returns `steps`, then waits for more. Returns `beat` as a heartbeat.
    init(_ steps: [StreamStep] = [], beat: [UInt8]? = nil) {
        state = Lock(State(steps: steps, beat: beat))
    }

    /// Adds `steps` after the remaining ones.
    func add(_ steps: [StreamStep]) {
        let handle = state.withLock { state in
            state.steps += steps
            return state.handle
        }
        handle?.wake()
    }

    /// From now on, bytes that the kernel has not accepted are dropped.
    func dropUnsent() { state.withLock { $0.dropsUnsent = true } }

    var dropsUnsent: Bool { state.withLock { $0.dropsUnsent } }

    func stopBeating() { state.withLock { $0.beat = nil } }

    var handle: StreamHandle? { state.withLock { $0.handle } }
    var openings: Int { state.withLock { $0.opened } }
    var ends: [StreamEnd] { state.withLock { $0.ends } }
    var stepsLeft: Int { state.withLock { $0.steps.count } }

    func opened(_ stream: StreamHandle) {
        state.withLock { state in
            state.opened += 1
            state.handle = stream
        }
    }

    /// The number of calls of `nextStep`.
    var timesAsked: Int { state.withLock { $0.asked } }

    func nextStep() -> StreamStep {
        state.withLock { state in
            state.asked += 1
            return state.steps.isEmpty ? .wait : state.steps.removeFirst()
        }
    }

    /// The number of calls of `aged`; it ends then.
    var timesAged: Int { state.withLock { $0.aged } }

    func aged() {
        state.withLock { $0.aged += 1 }
        add([.finish(Array("old".utf8))])
    }

    func heartbeat() -> [UInt8]? { state.withLock { $0.beat } }

    func closed(_ reason: StreamEnd) {
        state.withLock { state in
            state.ends.append(reason)
            state.handle = nil
        }
    }
}
