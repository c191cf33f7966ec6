// Repeats one piece of the hot path, so that valgrind counts its instructions; `request` is the whole path:
//
//   micro PIECE TIMES
//
// The difference between two runs with different TIMES is the cost without the start (script/lib/bench/micro computes
// it). Without arguments it lists the pieces.
import EventStream
import Glibc
import MVI
import Sessions
import WireJSON

/// A value of the size of a small screen's state.
struct Card: Codable, Equatable, Sendable {
    struct Row: Codable, Equatable, Sendable {
        var id: Int
        var title: String
        var price: Double?
        var isSelected: Bool
    }

    var title = "Tennis, 90 minutes"
    var status = "confirmed"
    var fee = 24.5
    var isLoading = false
    var rows = (1...3).map { Row(id: $0, title: "Court \($0)", price: $0 == 2 ? nil : 12, isSelected: $0 == 1) }
}

/// The host of a turn's store, without a session.
final class Alone: TurnHost {
    func check(_ effects: [Effect], after earlier: [Effect]) throws {}
    func isRunning(_ id: WorkID, after earlier: [Effect], _ effects: [Effect]) -> Bool { false }
    func check(_ reminders: [EncodedReminder]) throws {}
    func parts(after effects: [Effect]) -> Set<PartName> { [] }
    func tookLong(_ nanoseconds: UInt64, _ intentID: IntentID) {}
    func number(of instance: String) -> UInt64 { 0 }
    func viewers(of instance: String) -> KnownViewers { KnownViewers(Viewers<Never>(), json: "") }
    func noteGonePart() {}
    var isRecorded: Bool { false }
    var isShared: Bool { false }

    func runner(of instance: String, for principal: Principal?, isAtOnce: Bool) throws -> any StoreRunner {
        throw StoreIsAbsent(instance: instance)
    }
}

/// Prevents the optimizer from removing code without effects.
@inline(never)
func use<T>(_ value: T) {}

struct Piece {
    let name: String
    let run: (Int) throws -> Void
}

let intent = Array(#"{"type":"add","amount":1}"#.utf8)
let card = try WireJSON.encode(Card())

let pieces = [
    Piece(name: "decode-intent") { times in
        for _ in 0..<times { use(try WireJSON.decode(Tally.Intent.self, from: intent)) }
    },
    Piece(name: "decode-card") { times in
        for _ in 0..<times { use(try WireJSON.decode(Card.self, from: card)) }
    },
    Piece(name: "encode-state") { times in
        var output: [UInt8] = []
        for count in 0..<times {
            output.removeAll(keepingCapacity: true)
            try WireJSON.encode(Tally.State(count: count), into: &output)
        }
        use(output)
    },
    Piece(name: "encode-card") { times in
        let value = Card()
        var output: [UInt8] = []
        for _ in 0..<times {
            output.removeAll(keepingCapacity: true)
            try WireJSON.encode(value, into: &output)
        }
        use(output)
    },
    Piece(name: "encode-event") { times in
        var output: [UInt8] = []
        for _ in 0..<times {
            output.removeAll(keepingCapacity: true)
            try EventEncoder.append(event: "state", id: "a5a5rt2y6gyfq.41", data: card, to: &output)
        }
        use(output)
    },
    Piece(name: "store-turn") { times in
        let host = Alone()
        let runner = TurnRunner(
            Tally(), state: Tally.State(), environment: StoreEnvironment(), middleware: []
        ) { (turn, _, _) throws(StoreError) in TurnResult(turn) }
        let id = IntentID("a5a5rt2y6gyfq")
        for _ in 0..<times {
            let turn = TurnRunner<Tally>.execute(.add(amount: 1))(runner, TurnContext(id, host))
            guard case .ran = turn.outcome else { fatalError("a turn was refused") }
            runner.commit()
        }
        use(runner.state)
    },
    Piece(name: "session") { times in
        let looped = try Looped(sessions: 1)
        for _ in 0..<times { looped.post() }
    },
    Piece(name: "session-of-1000") { times in
        let looped = try Looped(sessions: 1, stores: 1_000)
        for _ in 0..<times { looped.post() }
    },
    Piece(name: "request") { times in
        var served = try Served()
        for _ in 0..<times { served.post() }
    },
]

let arguments = CommandLine.arguments
guard arguments.count == 3, let times = Int(arguments[2]),
    let piece = pieces.first(where: { $0.name == arguments[1] })
else {
    for piece in pieces { print(piece.name) }
    exit(arguments.count == 1 ? 0 : 2)
}
try piece.run(times)
