import MVI
import Synchronization

/// The number of fired and committed reminders; the trial reads it.
final class Fired: Sendable {
    let count = Atomic<Int>(0)
}

/// Rings at a time that a client sets.
struct Alarm: Feature {
    struct State: Codable, Equatable, Sendable { var rings = 0 }
    enum Intent: Codable, Sendable {
        /// Seconds since 1970.
        case set(at: Int)
        case tap
    }
    enum Action: Codable, Sendable { case ring }
    enum Message: Equatable, Sendable { case rang, tapped }

    static let summary = "Rings at a set time, to measure the cost of many reminders."
    static let examples: [Intent] = [.set(at: 0), .tap]
    let initialState = State()
    let fired: Fired

    var middleware: Middleware<Alarm> {
        .observing { [fired] observation in
            if case .message(.rang, _, _) = observation.event { fired.count.add(1, ordering: .relaxed) }
        }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .set(let time): turn.remind(id: "ring", at: Timestamp(sinceEpoch: .seconds(time)), .ring)
        case .tap: turn.dispatch(.tapped)
        }
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) { turn.dispatch(.rang) }

    func reduce(_ state: inout State, _ message: Message) {
        if message == .rang { state.rings += 1 }
    }
}
