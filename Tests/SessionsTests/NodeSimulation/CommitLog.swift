import Locking
import MVI
import SessionJournal
import WireJSON

/// Is told of all that happens in the journal.
protocol CommitWitness: Sendable {
    /// Returns the owner before a batch is appended.
    func before(_ batch: JournalBatch) -> SessionOwner?
    func committed(_ batch: JournalBatch, _ owner: SessionOwner?, life: Int, build: Int)
    func joined(_ node: NodeID, life: Int)
    func forgot(_ node: NodeID)
}

/// Checks every commit of all nodes against the previous commits, and all values that clients get against the commits.
final class CommitLog: CommitWitness {
    /// A view in the form of all builds.
    struct View: Decodable, Equatable {
        var log: ErrandLog
        /// Only the newer build sets it.
        var build: Int?
    }

    /// The known facts of one session.
    struct History {
        var head: UInt64 = 0
        /// The stored values by feature instance.
        var stores: [FeatureID: (log: ErrandLog, schemaVersion: Int, version: UInt64)] = [:]
        /// The number of runs of each intent.
        var ran: [Int: Int] = [:]
        /// The node that took the steps of a job, and the owner with the fence under which it did.
        var runs: [Int: (life: Int, owner: SessionOwner)] = [:]
        /// The view of each version in any answer, by epoch.
        var views: [String: [UInt64: View]] = [:]
        var epoch = ""
        var receipts: Set<ReceiptKey> = []
        var lastNumbers: [String: UInt64] = [:]
        /// The content of the kept labels, by their turn's number and index.
        var labels: [LabelID: Int] = [:]
        var isEnded = false
    }

    private struct State {
        var histories: [TokenHash: History] = [:]
        var tokens: [SessionKey: TokenHash] = [:]
        /// Sessions that are not checked.
        var ignored: Set<SessionKey> = []
        /// The index of the life with a node id.
        var lives: [NodeID: Int] = [:]
        /// The nodes in the journal.
        var nodes: Set<NodeID> = []
        var faults: [String] = []
        var takeovers = 0
        var steps = 0
    }

    private let kept: MemoryJournal
    private let state = Lock(State())
    private let told = Lock<[String]>([])
    /// The true time since the start.
    let time = Box<Duration>()

    init(_ kept: MemoryJournal) { self.kept = kept }

    var faults: [String] { state.withLock { $0.faults } }

    /// The number of takeovers from dead nodes, and of steps of work.
    var counts: (takeovers: Int, steps: Int) { state.withLock { ($0.takeovers, $0.steps) } }

    func history(_ token: TokenHash) -> History { state.withLock { $0.histories[token] ?? History() } }

    /// The events of the run in order, printed for a single seed.
    var story: [String] { told.withLock { $0 } }

    func tell(_ text: String) {
        let time = time.value ?? .zero
        told.withLock { $0.append("\(time) \(text)") }
    }

    func note(fault: String) { state.withLock { $0.faults.append(fault) } }

    // MARK: Nodes and sessions

    func joined(_ node: NodeID, life: Int) {
        state.withLock { state in
            state.lives[node] = life
            state.nodes.insert(node)
        }
    }

    func forgotAll() { state.withLock { $0.nodes = [] } }

    func forgot(_ node: NodeID) { state.withLock { _ = $0.nodes.remove(node) } }

    func created(_ key: SessionKey, _ token: TokenHash, epoch: String) {
        state.withLock { state in
            state.tokens[key] = token
            state.histories[token, default: History()].epoch = epoch
        }
    }

    func ignore(_ key: SessionKey) { state.withLock { _ = $0.ignored.insert(key) } }

    /// Restores the history of a session. Views of other epochs stay valid.
    func goBack(_ token: TokenHash, to history: History, epoch: String) {
        state.withLock { state in
            var history = history
            history.epoch = epoch
            history.views = state.histories[token]?.views ?? [:]
            state.histories[token] = history
        }
    }

    func key(of token: TokenHash) -> SessionKey? {
        state.withLock { state in state.tokens.first { $0.value == token }?.key }
    }

    // MARK: Commits

    func before(_ batch: JournalBatch) -> SessionOwner? { kept.owner(of: batch.session) }

    func committed(_ batch: JournalBatch, _ owner: SessionOwner?, life: Int, build: Int) {
        tell("life \(life) committed \(batch.summary)")
        state.withLock { state in
            guard let token = state.tokens[batch.session] else {
                if state.ignored.contains(batch.session) { return }
                return state.faults.append("a session that was not made")
            }
            var history = state.histories[token] ?? History()
            let old = history
            var faults: [String] = []
            if let owner, let ownerLife = state.lives[owner.node], ownerLife != life {
                state.takeovers += 1
                if state.nodes.contains(owner.node) {
                    faults.append("life \(life) took a session from life \(ownerLife), which is among the nodes")
                }
            }
            if batch.head.number <= history.head {
                faults.append("the head went from \(history.head) to \(batch.head.number)")
            }
            history.head = batch.head.number
            history.epoch = batch.epoch ?? history.epoch
            for change in batch.stores {
                faults += history.apply(
                    change, owner, life: life, ownerLife: owner.flatMap { state.lives[$0.node] }, build)
            }
            faults += history.apply(batch.receipts) + history.apply(batch.labels)
            state.steps += history.runs.count - old.runs.count
            state.histories[token] = history
            state.faults += faults.map { "\($0) (turns \(batch.expecting.number + 1)...\(batch.head.number))" }
        }
    }

    // MARK: What clients see

    /// Records that a client got a view under an epoch.
    func see(_ view: View, of feature: FeatureID, version: UInt64, epoch: String, in token: TokenHash) {
        state.withLock { state in
            let fault = state.histories[token, default: History()]
                .see(view, of: feature, version: version, epoch: epoch)
            if let fault { state.faults.append(fault) }
        }
    }
}

extension JournalBatch {
    /// The batch in one line of the story.
    fileprivate var summary: String {
        var parts = ["session \(session.number), turns \(expecting.number + 1)...\(head.number)"]
        parts += stores.map { "\($0.feature) \($0.kind) \($0.version)" }
        parts += receipts.map { "\($0.key)" } + labels.map { "label \($0.id)" }
        parts += reminders.map { "\($0)" }
        if let epoch { parts.append("epoch \(epoch)") }
        if let ownerChange { parts.append("\(ownerChange)") }
        return parts.joined(separator: ", ")
    }
}

extension CommitLog.History {
    mutating func see(
        _ view: CommitLog.View, of feature: FeatureID, version: UInt64, epoch: String
    ) -> String? {
        let place = "\(epoch) \(feature)"
        if let known = views[place]?[version], known != view {
            return "version \(version) of \(feature) in \(epoch) was \(known) and is \(view)"
        }
        views[place, default: [:]][version] = view
        return nil
    }

    fileprivate mutating func apply(
        _ change: StoreChange, _ owner: SessionOwner?, life: Int, ownerLife: Int?, _ build: Int
    ) -> [String] {
        let feature = change.feature
        let old = stores[feature]
        var faults: [String] = []
        if change.kind == .disposed {
            stores[feature] = nil
            return []
        }
        if let reason = change.setsAside { faults.append("\(feature) was set aside: \(reason)") }
        if change.state != nil, let old, change.kind == .changed, change.schemaVersion < old.schemaVersion {
            faults.append("\(feature) went from schema \(old.schemaVersion) to \(change.schemaVersion) in life \(life)")
        }
        guard let json = change.view else { return faults }
        guard let view = try? WireJSON.decode(CommitLog.View.self, from: json) else {
            return faults + ["\(feature)'s view cannot be read"]
        }
        if let old, change.version <= old.version {
            faults.append("\(feature) went from version \(old.version) to \(change.version)")
        }
        if let fault = see(view, of: feature, version: change.version, epoch: epoch) { faults.append(fault) }
        let before = change.kind == .made ? ErrandLog() : old?.log ?? ErrandLog()
        faults += follow(view.log, before, feature)
        let steps = view.log.steps.dropFirst(before.steps.count).map(\.run)
        let ticker = view.log.ticks > before.ticks ? [view.log.ticker] : []
        for run in steps + ticker {
            guard let owner, ownerLife == life else {
                faults.append(
                    "life \(life) took a step of \(feature) and was not the owner, which is \(ownerLife ?? 0)")
                continue
            }
            if let known = runs[run], known != (life, owner) {
                faults.append(
                    "work \(run) of \(feature) was \(known.life)'s under \(known.owner), and is \(life)'s under \(owner)"
                )
            }
            runs[run] = (life, owner)
        }
        stores[feature] = (
            view.log, change.state == nil ? old?.schemaVersion ?? change.schemaVersion : change.schemaVersion,
            change.version
        )
        return faults
    }

    /// Checks that a log contains its predecessor, and each new entry once.
    private mutating func follow(_ log: ErrandLog, _ before: ErrandLog, _ feature: FeatureID) -> [String] {
        var faults: [String] = []
        let isLost =
            !log.entries.starts(with: before.entries) || !log.steps.starts(with: before.steps)
            || !log.ended.starts(with: before.ended) || !log.reminded.starts(with: before.reminded)
            || log.ticks < before.ticks
        if isLost { faults.append("\(feature) lost something: \(before) became \(log)") }
        for number in log.entries.dropFirst(before.entries.count) {
            ran[number, default: 0] += 1
            if ran[number] != 1 { faults.append("intent \(number) ran \(ran[number] ?? 0) times, last on \(feature)") }
        }
        if log.mistaken.count > before.mistaken.count {
            faults.append("\(feature): an intent ran on another version than the one asked for: \(log.mistaken)")
        }
        let places = log.steps.map { [$0.job, $0.index] }
        if Set(places).count != places.count { faults.append("\(feature): a step was taken twice: \(log.steps)") }
        for (name, list) in [("ended", log.ended), ("reminded", log.reminded)] where Set(list).count != list.count {
            faults.append("\(feature): \(name) twice: \(list)")
        }
        return faults
    }

    fileprivate mutating func apply(_ receipts: [StoredReceipt]) -> [String] {
        var faults: [String] = []
        for receipt in receipts {
            if !self.receipts.insert(receipt.key).inserted { faults.append("a second receipt of \(receipt.key)") }
            guard case .sequence(let number, let epoch) = receipt.key else { continue }
            let last = lastNumbers[epoch] ?? 0
            if number != last + 1 { faults.append("number \(number) of \(epoch) came after \(last)") }
            lastNumbers[epoch] = number
        }
        return faults
    }

    fileprivate mutating func apply(_ labels: [StoredLabel]) -> [String] {
        struct Said: Decodable { var value: Int }
        var faults: [String] = []
        for label in labels {
            guard let said = try? WireJSON.decode(Said.self, from: label.json) else {
                faults.append("a label cannot be read")
                continue
            }
            if self.labels.values.contains(said.value) { faults.append("label \(said.value) was published twice") }
            if self.labels[label.id] != nil { faults.append("two labels have the id \(label.id)") }
            self.labels[label.id] = said.value
        }
        return faults
    }
}
