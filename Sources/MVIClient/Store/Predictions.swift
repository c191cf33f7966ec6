/// The confirmed state of a store, and the predictions of its pending intents.
///
/// While a predicted intent is sent and has no answer (it is in doubt), a state may have its effect or not. The newest such
/// state is held, with the labels after it, until the answer, for a second at most.
///
/// The value calls none of the app's code: `folding` has what `shown` is made of, and its owner folds it outside locks.
struct Predictions<State: Sendable, Intent: Sendable, Label: Sendable>: Sendable {
    /// Changes a view state as the server is expected to. A prediction that throws is skipped.
    typealias Predict = @Sendable (inout State, Intent) throws -> Void

    struct Entry: Sendable {
        let key: String
        let intent: Intent
        /// The intent as JSON, to send it again.
        let body: [UInt8]
        /// True if an earlier run of the app kept it: it is sent before those of this one.
        var isKept = false
        var status = PredictionStatus.sending
        var error: RemoteError?
        var isShown = false
        var isInDoubt = false
        /// True if an attempt had no answer: the confirmed state may have it already.
        var isLost = false
        /// True if its store has ended: its effect is in no state.
        var isDropped = false
        /// The version of the answer.
        var version: UInt64?

        /// Fails, unless it was answered: then only its caller waits no more.
        mutating func fail(_ error: RemoteError) {
            guard status != .sent else { return }
            (status, self.error, isInDoubt, isShown) = (.failed, error, false, false)
            isLost = isLost || error.mayHaveRun
        }
    }

    /// A state, and the intents to fold over it.
    struct Folding: Sendable {
        let number: Int
        let state: State
        let intents: [Intent]

        func folded(_ predict: Predict?) -> State {
            var state = state
            for intent in intents {
                var next = state
                do { try predict?(&next, intent) } catch { continue }
                state = next
            }
            return state
        }
    }

    private struct Held: Sendable {
        var version: UInt64
        var intent: String?
        var state: State
        var text: [UInt8]?
        var labels: [Label] = []
    }

    /// The maximum number of pending intents of a store; further ones are sent without a prediction.
    static var limit: Int { 100 }
    /// The longest time for which a state is held.
    static var doubtLimit: Duration { .seconds(1) }

    let predict: Predict?
    private(set) var confirmed: State?
    /// Grows with each new `confirmed`.
    private(set) var confirmedNumber = 0
    /// The JSON of `confirmed`, if it is known.
    private var text: [UInt8]?
    private(set) var version: UInt64?
    private(set) var entries: [Entry] = []
    /// The labels that can be delivered.
    var labels: [Label] = []
    /// The predictions that a state has confirmed last, with the state that the server has instead.
    var confirmation: (predicted: Folding, actual: State)?
    /// The last fold.
    private(set) var shown: State?
    /// The number of the parts of `shown`: it grows when one of them changes.
    private(set) var number = 0
    private var shownNumber = 0
    private var shownKeys: [String] = []
    private var held: Held?
    private(set) var holdNumber = 0
    /// True from the end of the store, or the denial of access, to the next state.
    private var isOver = false

    init(_ predict: Predict?) { self.predict = predict }

    var isHolding: Bool { held != nil }

    // MARK: Folding

    /// The parts of `shown`, if they have changed since.
    var folding: Folding? {
        guard number != shownNumber, let confirmed else { return nil }
        return Folding(number: number, state: confirmed, intents: entries.filter(\.isShown).map(\.intent))
    }

    /// Sets the result of a folding. Returns false if the parts have changed meanwhile.
    @discardableResult
    mutating func fold(_ folding: Folding, _ state: State) -> Bool {
        guard folding.number == number else { return false }
        (shown, shownNumber) = (state, number)
        return true
    }

    private mutating func noteParts() {
        let keys = entries.filter(\.isShown).map(\.key)
        if keys != shownKeys { (shownKeys, number) = (keys, number + 1) }
    }

    // MARK: Intents

    /// Shows an intent. Returns false if it is not predicted.
    mutating func add(_ intent: Intent, body: [UInt8], key: String) -> Bool {
        guard predict != nil else { return false }
        if entries.count >= Self.limit, let failed = entries.firstIndex(where: { $0.status == .failed }) {
            entries.remove(at: failed)
        }
        guard entries.count < Self.limit else { return false }
        begin(Entry(key: key, intent: intent, body: body))
        return true
    }

    /// Shows an intent that an earlier run of the app kept.
    ///
    /// - Parameter isLost: true if it may have run.
    mutating func resume(_ intent: Intent, body: [UInt8], key: String, isLost: Bool) {
        guard !entries.contains(where: { $0.key == key }), entries.count < Self.limit else { return }
        let next = entries.firstIndex { !$0.isKept } ?? entries.endIndex
        begin(Entry(key: key, intent: intent, body: body, isKept: true, isLost: isLost), at: next)
    }

    private mutating func begin(_ entry: Entry, at index: Int? = nil) {
        var entry = entry
        (entry.status, entry.error, entry.isDropped) = (.sending, nil, false)
        entry.isShown = confirmed != nil && !isOver && !entry.isLost
        entries.removeAll { $0.key == entry.key }
        entries.insert(entry, at: index ?? entries.endIndex)
        noteParts()
    }

    /// Shows a failed intent again. Returns its body; nil if there is no such intent.
    mutating func retry(_ key: String) -> [UInt8]? {
        guard var entry = entries.first(where: { $0.key == key && $0.status == .failed }) else { return nil }
        entry.isKept = false
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
            case .failed(let error): entry.fail(error)
            case .canceled: entry.fail(RemoteError(.closed, "Its caller was canceled."))
            }
        }
        // A canceled intent has no caller that dismisses it.
        if progress == .canceled { dismiss(key) }
    }

    private mutating func change(_ key: String, _ change: (inout Entry, _ hasVersion: Bool) -> Void) {
        guard let index = entries.firstIndex(where: { $0.key == key }) else { return }
        change(&entries[index], version != nil && !isOver)
        if entries[index].isInDoubt { return }
        if doubtful == nil { take() }
        entries.removeAll { entry in entry.version.map { isOver || $0 <= version ?? 0 } ?? false }
        noteParts()
    }

    // MARK: The stream

    private var doubtful: Entry? { entries.first { $0.isInDoubt && $0.isShown } }

    /// - Parameter text: the state's JSON. The same text and version as before is nothing new: each stream begins with it.
    mutating func show(_ state: State, version: UInt64, intent: String?, text: [UInt8]? = nil) {
        let isNewer = self.version.map { version > $0 } ?? true
        let isHeld = held != nil
        held = Held(version: version, intent: intent, state: state, text: text, labels: held?.labels ?? [])
        // No later intent was sent before an answer with exactly this version.
        let isAnswered = entries.contains { $0.version == version }
        if let doubtful, isNewer, intent != doubtful.key, !isAnswered {
            if !isHeld { holdNumber += 1 }
            return
        }
        take()
        noteParts()
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
        noteParts()
    }

    private mutating func take() {
        guard let taken = release() else { return }
        let (before, known) = (confirmed, version)
        if isOver || taken.version != version || taken.text == nil || taken.text != text {
            (confirmed, text, version, isOver) = (taken.state, taken.text, taken.version, false)
            (confirmedNumber, number) = (confirmedNumber + 1, number + 1)
        }
        if before == nil {
            for index in entries.indices {
                let entry = entries[index]
                entries[index].isShown =
                    !entry.isInDoubt && !entry.isLost && !entry.isDropped && entry.status != .failed
            }
        }
        let isConfirmed = { (entry: Entry) in
            entry.key == taken.intent || (entry.version.map { $0 <= taken.version } ?? false)
        }
        if let before, known != nil, let last = entries.last(where: isConfirmed), last.isShown,
            last.key == taken.intent || last.version == taken.version
        {
            let intents = entries.filter { isConfirmed($0) && $0.isShown }.map(\.intent)
            confirmation = (Folding(number: 0, state: before, intents: intents), taken.state)
        }
        entries.removeAll(where: isConfirmed)
        labels += taken.labels
    }

    private mutating func release() -> Held? {
        defer { held = nil }
        return held
    }

    /// The held state, and the versions of answers, belong to another stream than the next states. If they belong to
    /// another log or session as well, failed intents do not concern it.
    mutating func reset(forgetsVersion: Bool = false) {
        labels += release()?.labels ?? []
        entries.removeAll { $0.status == .sent || (forgetsVersion && $0.status == .failed) }
        if forgetsVersion { version = nil }
        noteParts()
    }

    /// The store is gone, or may not be seen: nothing is predicted until its next state.
    mutating func end() {
        isOver = true
        for index in entries.indices { (entries[index].isShown, entries[index].isDropped) = (false, true) }
        reset()
    }

    /// The newest state cannot be read: the last one stays, and nothing is predicted until the next.
    mutating func outdated() {
        if isHolding { suspend() }
        end()
    }

    /// The store is not watched, so that no event confirms anything.
    mutating func unwatched() {
        if isHolding { suspend() }
        reset()
    }
}
