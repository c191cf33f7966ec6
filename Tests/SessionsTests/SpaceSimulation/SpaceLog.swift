import Locking
import MVI
import SessionJournal
import WireJSON

@testable import Sessions

/// Checks every commit of all nodes to spaces, and knows what each log has.
final class SpaceLog: CommitWitness {
    /// The log of a space. Another one of the same name begins when it has ended, or went back.
    struct Space {
        var key: SessionKey
        var epoch = ""
        var entries: [Int] = []
        /// The times of its labels, true ones since the start, and their values.
        var labels: [LabelID: (time: Duration, value: Int)] = [:]
        /// The number of times that it went back, or ended.
        var losses = 0
        /// The states of each version, those of lost logs too.
        var views: [UInt64: Set<[Int]>] = [:]
        var receipts: Set<ReceiptKey> = []
    }

    /// A message of one board to another.
    struct Pass: Hashable {
        let from: SpaceName
        let to: SpaceName
    }

    struct State {
        /// The messages by the numbers of their intents.
        var passes: [Int: Pass] = [:]
        var spaces: [SpaceName: Space] = [:]
        var callers: [SessionToken] = []
        /// The number of commits with an intent's turn.
        var ran: [Int: Int] = [:]
        /// To whom the labels of intents are directed, those that are.
        var addressees: [Int: String] = [:]
        var lives: [NodeID: Int] = [:]
        var nodes: Set<NodeID> = []
        var faults: [String] = []
        var takeovers = 0
    }

    private let kept: MemoryJournal
    let state = Lock(State())
    private let told = Lock<[String]>([])
    /// The true time since the start.
    let time = Box<Duration>()

    init(_ kept: MemoryJournal) { self.kept = kept }

    var faults: [String] { state.withLock { $0.faults } }
    var story: [String] { told.withLock { $0 } }
    var takeovers: Int { state.withLock { $0.takeovers } }

    subscript(name: SpaceName) -> Space? { state.withLock { $0.spaces[name] } }
    func ran(_ number: Int) -> Int { state.withLock { $0.ran[number] ?? 0 } }
    var total: Int { state.withLock { $0.ran.count } }

    func tell(_ text: String) {
        let time = time.value ?? .zero
        told.withLock { $0.append("\(time) \(text)") }
    }

    func note(fault: String) { state.withLock { $0.faults.append(fault) } }

    func add(caller token: SessionToken) { state.withLock { $0.callers.append(token) } }

    // MARK: Nodes

    func joined(_ node: NodeID, life: Int) {
        state.withLock { state in
            state.lives[node] = life
            state.nodes.insert(node)
        }
    }

    func forgot(_ node: NodeID) { state.withLock { _ = $0.nodes.remove(node) } }
    func forgotAll() { state.withLock { $0.nodes = [] } }

    // MARK: Losses

    /// Restores an earlier content of a space's log.
    func goBack(_ name: SpaceName, to earlier: Space, epoch: String) {
        state.withLock { state in
            let now = state.spaces[name]
            var space = earlier
            space.losses = (now?.losses ?? 0) + 1
            space.views = now?.views ?? [:]
            space.epoch = epoch
            state.spaces[name] = space
            for number in now?.entries ?? [] where !space.entries.contains(number) { state.ran[number] = nil }
        }
    }

    /// A loss of a space that the journal has no longer.
    func ended(_ name: SpaceName) {
        state.withLock { state in
            guard var space = state.spaces[name] else { return }
            // What is lost may run again.
            for number in space.entries { state.ran[number] = nil }
            (space.epoch, space.entries, space.labels, space.receipts) = ("", [], [:], [])
            space.losses += 1
            state.spaces[name] = space
        }
    }

    // MARK: Commits

    func before(_ batch: JournalBatch) -> SessionOwner? { kept.owner(of: batch.session) }

    func committed(_ batch: JournalBatch, _ owner: SessionOwner?, life: Int, build: Int) {
        let names =
            batch.stores.map { "\($0.feature) \($0.kind) \($0.version)" } + batch.labels.map { "label \($0.id)" }
        tell(
            "life \(life) committed \(batch.expecting.number + 1)...\(batch.head.number) of \(batch.session.number) "
                + names.joined(separator: ", ") + (batch.ownerChange.map { " \($0)" } ?? ""))
        guard let record = record(of: batch.session), let name = record.space else { return }
        let (after, ended, time) = (kept.owner(of: batch.session), endedCallers, time.value ?? .zero)
        state.withLock { state in
            var faults: [String] = []
            if let owner, let ownerLife = state.lives[owner.node], ownerLife != life {
                state.takeovers += 1
                if state.nodes.contains(owner.node) {
                    faults.append("84: life \(life) took \(name) from life \(ownerLife), which is among the nodes")
                }
            }
            let isGiven = batch.ownerChange == .released || after?.node == .nobody
            if !isGiven, after.flatMap({ state.lives[$0.node] }) != life {
                faults.append("84: life \(life) wrote to \(name), which has the owner \(String(describing: after))")
            }
            var space = state.spaces[name] ?? Space(key: batch.session)
            (space.key, space.epoch) = (batch.session, record.epoch)
            faults += space.apply(batch, &state.ran, ended: ended, at: time)
            state.spaces[name] = space
            faults += state.faultsOfMessages(to: name, space.entries)
            state.faults += faults.map { "\($0) (\(name.text), \(batch.expecting.number + 1)...\(batch.head.number))" }
        }
    }

    /// The callers whose session the journal has as ended.
    private var endedCallers: Set<Int> {
        let callers = state.withLock { $0.callers }
        return Set(
            callers.indices.filter { index in
                let ended = Box<Bool>()
                kept.load(callers[index].hash, now: .seconds(1_700_000_000)) { result in
                    if case .success(.ended) = result { ended.set(true) }
                }
                return ended.value ?? false
            })
    }

    private func record(of session: SessionKey) -> SessionRecord? {
        let record = Box<SessionRecord>()
        kept.load(session, since: .empty) { if let found = (try? $0.get())?.record { record.set(found) } }
        return record.value
    }
}

extension SpaceLog.Space {
    fileprivate mutating func apply(
        _ batch: JournalBatch, _ ran: inout [Int: Int], ended: Set<Int>, at time: Duration
    ) -> [String] {
        var faults: [String] = []
        for change in batch.stores {
            guard change.view != nil, let json = change.state,
                let view = try? WireJSON.decode(Board.State.self, from: json)
            else { continue }
            if !view.entries.starts(with: entries) { faults.append("79: \(entries) became \(view.entries)") }
            for number in view.entries.dropFirst(entries.count) {
                ran[number, default: 0] += 1
                if Board.origin(of: number) != nil || number < 0 { continue }
                if ran[number] != 1 { faults.append("80: intent \(number) ran \(ran[number] ?? 0) times") }
                if ended.contains(number / SpaceCaller.range) {
                    faults.append("81: intent \(number) ran after its caller's session had ended")
                }
            }
            entries = view.entries
            views[change.version, default: []].insert(entries)
        }
        for receipt in batch.receipts where !receipts.insert(receipt.key).inserted {
            faults.append("80: a second receipt of \(receipt.key)")
        }
        for label in batch.labels {
            if labels[label.id] != nil { faults.append("two labels have the id \(label.id)") }
            labels[label.id] = (time, Board.value(of: label.json))
        }
        return faults
    }
}

/// Messages between boards.
extension SpaceLog.State {
    /// True if no commit of the two boards was lost: then a message runs once.
    private func isWhole(_ pass: SpaceLog.Pass) -> Bool {
        spaces[pass.from]?.losses ?? 0 == 0 && spaces[pass.to]?.losses ?? 0 == 0
    }

    /// Each message ran once, or came back once, after the turn that told it, in the order of its log.
    fileprivate func faultsOfMessages(to name: SpaceName, _ entries: [Int]) -> [String] {
        var faults: [String] = []
        if entries.contains(-1) { faults.append("87: a message was given up") }
        var last: [SpaceLog.Pass: Int] = [:]
        for value in entries {
            guard let number = Board.origin(of: value), let pass = passes[number], isWhole(pass) else { continue }
            if ran[value] != 1 { faults.append("87: the message of \(number) ran \(ran[value] ?? 0) times") }
            guard let place = spaces[pass.from]?.entries.firstIndex(of: number) else {
                faults.append("87: the message of \(number) ran before the intent")
                continue
            }
            if place < last[pass] ?? -1 { faults.append("87: the message of \(number) came too late") }
            last[pass] = place
        }
        return faults
    }

    /// The messages that have neither run nor come back.
    var missingMessages: [Int] {
        passes.filter { number, pass in
            isWhole(pass) && spaces[pass.from]?.entries.contains(number) == true && ran[Board.passed(number)] != 1
        }.keys.sorted()
    }
}
