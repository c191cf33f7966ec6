import Dispatch
import Locking
import SQLite
import SessionJournal

/// A result on its way to whoever waits for it.
enum Delivery: Sendable {
    case append(AppendResult, @Sendable (AppendResult) -> Void)
    case other(@Sendable () -> Void)

    func deliver() {
        switch self {
        case .append(let result, let done): done(result)
        case .other(let body): body()
        }
    }
}

/// Threads that hand results over, since those who take them run handlers and write to sockets, which neither the writer
/// nor the reader may wait for. A session always has the same lane, so that its results come in the order of commits.
final class Lanes: Sendable {
    private let lanes: [Lane]

    /// Starts the threads; they run until `end`.
    init(count: Int) throws(DatabaseThreadError) {
        let lanes = (0..<count).map { _ in Lane() }
        self.lanes = lanes
        do {
            for lane in lanes { try startThread { lane.run() } }
        } catch {
            for lane in lanes { lane.end() }
            throw error
        }
    }

    var count: Int { lanes.count }

    func index(of session: SessionKey) -> Int { Int(UInt64(bitPattern: session.number) % UInt64(lanes.count)) }

    func hand(_ deliveries: [Delivery], to index: Int) { lanes[index].hand(deliveries) }

    /// Ends the threads when they have handed over what they have, and waits for that. What comes later is never handed
    /// over.
    func end() {
        for lane in lanes { lane.end() }
        for lane in lanes { lane.hasEnded.wait() }
    }
}

private final class Lane: Sendable {
    private struct State {
        var waiting: [Delivery] = []
        var isAsleep = false
        var isEnding = false
    }

    private let state = Lock(State())
    private let signal = DispatchSemaphore(value: 0)
    let hasEnded = DispatchSemaphore(value: 0)

    func hand(_ deliveries: [Delivery]) {
        let wakes = state.withLock { state in
            state.waiting.append(contentsOf: deliveries)
            defer { state.isAsleep = false }
            return state.isAsleep
        }
        if wakes { signal.signal() }
    }

    func end() {
        state.withLock { $0.isEnding = true }
        signal.signal()
    }

    func run() {
        while true {
            let (deliveries, isEnding) = state.withLock { state in
                let waiting = state.waiting
                state.waiting = []
                state.isAsleep = waiting.isEmpty
                return (waiting, state.isEnding)
            }
            for delivery in deliveries { delivery.deliver() }
            if deliveries.isEmpty {
                if isEnding { break }
                signal.wait()
            }
        }
        hasEnded.signal()
    }
}
