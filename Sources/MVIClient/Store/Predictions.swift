/// The confirmed state of a store, and the predictions of its pending intents.
///
/// While a predicted intent is sent and has no answer (it is in doubt), a state may have its effect or not. The newest such
/// state is held, with the labels after it, until the answer, for a second at most.
struct Predictions<State: Sendable, Intent: Sendable, Label: Sendable>: Sendable {
    /// Changes a view state as the server is expected to. A prediction that throws is skipped.
    typealias Predict = @Sendable (inout State, Intent) throws -> Void

    struct Entry: Sendable {
        let key: String
        let intent: Intent
        /// The intent as JSON, to send it again.
        let body: [UInt8]
        var status = PredictionStatus.sending
        var error: RemoteError?
        var isShown = false
        var isInDoubt = false
        /// True if an attempt had no answer: the confirmed state may have it already.
        var isLost = false
        /// True if its store has ended: it is never shown again.
        var isDropped = false
        /// The version of the answer.
        var version: UInt64?
    }

    private struct Held: Sendable {
        var version: UInt64
        var intent: String?
        var state: State
        var labels: [Label] = []
    }

    /// The maximum number of predicted intents of a store; further ones are sent without a prediction.
    static var limit: Int { 100 }
    /// The longest time for which a state is held.
    static var doubtLimit: Duration { .seconds(1) }

    let predict: Predict?
    private(set) var confirmed: State?
    private(set) var version: UInt64?
    private(set) var entries: [Entry] = []
    /// The confirmed state with the predictions.
    private(set) var shown: State?
    /// The number of times that `shown` was made.
    private(set) var folds = 0
    /// The labels that can be delivered.
    var labels: [Label] = []
    /// True if the last confirmed prediction differs from the server's state.
    var isMispredicted = false
    private var held: Held?
    private(set) var holdNumber = 0

    init(_ predict: Predict?) { self.predict = predict }

    var isHolding: Bool { held != nil }

    // MARK: Intents

    /// Shows an intent. Returns false if it is not predicted.
    mutating func add(_ intent: Intent, body: [UInt8], key: String) -> Bool {
        guard predict != nil, entries.count < Self.limit else { return false }
        begin(Entry(key: key, intent: intent, body: body))
        return true
    }

    private mutating func begin(_ entry: Entry) {
        var entry = entry
        (entry.status, entry.error, entry.isShown) = (.sending, nil, confirmed != nil && !entry.isLost)
        entries.removeAll { $0.key == entry.key }
        entries.append(entry)
        fold()
    }

    /// Shows a failed intent again. Returns its body; nil if there is no such intent.
    mutating func retry(_ key: String) -> [UInt8]? {
        guard let entry = entries.first(where: { $0.key == key && $0.status == .failed }) else { return nil }
        begin(entry)
        return entry.body
    }

    mutating func dismiss(_ key: String) {
        entries.removeAll { $0.key == key && $0.status == .failed }
    }

    mutating func note(_ progress: IntentProgress, of key: String) {
        change(key) { entry, hasVersion in
            switch progress {
            case .sent: (entry.isLost, entry.isInDoubt) = (entry.isLost || entry.isInDoubt, true)
            case .unsent: entry.isInDoubt = false
            case .answered(let version):
                (entry.status, entry.isInDoubt, entry.version) = (.sent, false, version ?? 0)
                // A suspended one is shown until its state comes, unless the shown state is another log's.
                if hasVersion, !entry.isDropped { entry.isShown = true }
            }
        }
    }

    mutating func fail(_ error: RemoteError, of key: String) {
        change(key) { entry, _ in
            (entry.status, entry.error, entry.isInDoubt, entry.isShown) = (.failed, error, false, false)
            entry.isLost = entry.isLost || error.mayHaveRun
        }
    }

    private mutating func change(_ key: String, _ change: (inout Entry, _ hasVersion: Bool) -> Void) {
        guard let index = entries.firstIndex(where: { $0.key == key }) else { return }
        change(&entries[index], version != nil)
        if entries[index].isInDoubt { return }
        if doubtful == nil { take() }
        entries.removeAll { entry in entry.version.map { $0 <= version ?? 0 } ?? false }
        fold()
    }

    // MARK: The stream

    private var doubtful: Entry? { entries.first { $0.isInDoubt && $0.isShown } }

    mutating func show(_ state: State, version: UInt64, intent: String?) {
        let isNewer = self.version.map { version > $0 } ?? true
        let isHeld = held != nil
        held = Held(version: version, intent: intent, state: state, labels: held?.labels ?? [])
        // No later intent was sent before an answer with exactly this version.
        let isAnswered = entries.contains { $0.version == version }
        if let doubtful, isNewer, intent != doubtful.key, !isAnswered {
            if !isHeld { holdNumber += 1 }
            return
        }
        take()
        fold()
    }

    mutating func deliver(_ label: Label) {
        if held == nil { labels.append(label) } else { held?.labels.append(label) }
    }

    /// Takes a state that was held for too long without the intents in doubt; they are shown again after their answers.
    mutating func suspend(hold: Int) {
        if isHolding, hold == holdNumber { suspend() }
    }

    private mutating func suspend() {
        for index in entries.indices where entries[index].isInDoubt { entries[index].isShown = false }
        take()
        fold()
    }

    private mutating func take() {
        guard let taken = release() else { return }
        let before = confirmed
        (confirmed, version) = (taken.state, taken.version)
        if before == nil {
            for index in entries.indices {
                let entry = entries[index]
                entries[index].isShown = !entry.isInDoubt && !entry.isDropped && entry.status != .failed
            }
        }
        let isConfirmed = { (entry: Entry) in
            entry.key == taken.intent || (entry.version.map { $0 <= taken.version } ?? false)
        }
        if let before, let last = entries.last(where: isConfirmed), last.isShown,
            last.key == taken.intent || last.version == taken.version
        {
            let predicted = folded(before, entries.filter(isConfirmed))
            isMispredicted = isMispredicted || !Self.isEqual(predicted, taken.state)
        }
        entries.removeAll(where: isConfirmed)
        labels += taken.labels
    }

    private mutating func release() -> Held? {
        defer { held = nil }
        return held
    }

    /// The held state, and the versions of answers, belong to another stream or session than the next states.
    mutating func reset(forgetsVersion: Bool = false) {
        labels += release()?.labels ?? []
        entries.removeAll { $0.status == .sent }
        if forgetsVersion { version = nil }
        fold()
    }

    /// The store is gone, or may not be seen: nothing is predicted.
    mutating func end() {
        for index in entries.indices { (entries[index].isShown, entries[index].isDropped) = (false, true) }
        reset()
    }

    /// Nobody watches, so that no event confirms anything.
    mutating func unwatched() {
        if isHolding { suspend() }
        reset()
    }

    // MARK: Folding

    private mutating func fold() {
        shown = confirmed.map { folded($0, entries) }
        folds += 1
    }

    private func folded(_ state: State, _ entries: [Entry]) -> State {
        var state = state
        for entry in entries where entry.isShown {
            var next = state
            do { try predict?(&next, entry.intent) } catch { continue }
            state = next
        }
        return state
    }

    private static func isEqual(_ a: State, _ b: State) -> Bool {
        func compare<Value: Equatable>(_ a: Value) -> Bool { a == b as? Value }
        return (a as? any Equatable).map { compare($0) } ?? true
    }
}
