import DequeModule
import Locking
import WireJSON

/// Passes the deliveries of one store to its readers. Each one is decoded once.
///
/// Deliveries come one at a time; intents and listeners come on any thread. What follows from them is performed by one
/// thread at a time, in order, without the lock.
final class StoreFeed<State: Decodable & Sendable, Intent: Encodable & Sendable, Label: Decodable & Sendable>: Sendable
{
    typealias Book = Predictions<State, Intent, TimedLabel<Label>>

    /// The values that a view shows.
    struct Picture: Sendable {
        var state: State?
        /// The number of `state`, which grows with each new one.
        var number = 0
        var confirmed: State?
        /// The number of `confirmed`, which grows with each new one.
        var confirmedNumber = 0
        var pending: [Book.Entry] = []
        var presence: StorePresence?
        var availability = Availability.unknown
        /// The error of the newest state, or of the last intent of `post`.
        var failure: RemoteError?
    }

    /// The consequences of a change, beside the picture.
    private struct News: Sendable {
        var labels: [TimedLabel<Label>] = []
        var readers: [AsyncStream<TimedLabel<Label>>.Continuation] = []
        /// The number of a state that is held from now on.
        var hold: Int?
        var reports: [String] = []
        /// Those who wait for the end of a hold.
        var settled: [CheckedContinuation<Void, Never>] = []
    }

    private struct Contents {
        var book: Book
        var presence: StorePresence?
        var availability = Availability.unknown
        var failure: RemoteError?
        /// The error of the newest state, if it cannot be read.
        var outdated: RemoteError?
        var shownNumber = 0
        var states: [UInt64: AsyncStream<State>.Continuation] = [:]
        var labels: [UInt64: AsyncStream<TimedLabel<Label>>.Continuation] = [:]
        /// The labels that arrived while no sequence was iterated.
        var waitingLabels: [TimedLabel<Label>] = []
        var news: Deque<News> = []
        var isDelivering = false
        var settled: [CheckedContinuation<Void, Never>] = []

        var isRead: Bool { !states.isEmpty || !labels.isEmpty }

        var picture: Picture {
            Picture(
                state: book.shown, number: shownNumber, confirmed: book.confirmed,
                confirmedNumber: book.confirmedNumber, pending: book.entries, presence: presence,
                availability: availability, failure: outdated ?? failure)
        }
    }

    /// The maximum number of labels that wait without a listener, and for a slow one; the oldest are dropped first.
    static var labelLimit: Int { 1_000 }

    private let feature: String
    private let core: ClientCore
    private let report: @Sendable (String) -> Void
    private let outdated: FirstError
    private let number: UInt64
    private let contents: Lock<Contents>
    private let changed = Lock<@Sendable (Picture) -> Void>({ _ in })

    init(
        feature: String, core: ClientCore, predict: Book.Predict?, report: @escaping @Sendable (String) -> Void,
        outdated: FirstError
    ) {
        self.feature = feature
        self.core = core
        self.report = report
        self.outdated = outdated
        number = core.number()
        contents = Lock(Contents(book: Book(predict)))
        if predict != nil, Intent.self is any Decodable.Type { adopt() }
    }

    deinit { core.stopAdopting(feature, by: number) }

    /// Sets the callback that receives each new picture, in order.
    func onChange(_ changed: @escaping @Sendable (Picture) -> Void) { self.changed.withLock { $0 = changed } }

    // MARK: Listeners

    /// The present state, if there is one, and later ones. A slow listener gets only the newest.
    ///
    /// - Parameter owner: retained as long as the sequence.
    func states(keeping owner: RemoteServer) -> AsyncStream<State> {
        let (stream, continuation) = AsyncStream.makeStream(of: State.self, bufferingPolicy: .bufferingNewest(1))
        let listener = core.number()
        contents.withLock { contents in
            contents.states[listener] = continuation
            // No task can wait for it yet, so none is resumed.
            if let state = contents.book.shown { continuation.yield(state) }
        }
        continuation.onTermination = { [self, owner] _ in
            withExtendedLifetime(owner) { unlisten { _ = $0.states.removeValue(forKey: listener) } }
        }
        watch()
        return stream
    }

    /// The labels that arrived while no sequence was iterated, and later ones. Each is of use when the listener gets it.
    ///
    /// - Parameter owner: retained as long as the sequence.
    func labels(keeping owner: RemoteServer) -> AsyncStream<Label> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: TimedLabel<Label>.self, bufferingPolicy: .bufferingNewest(Self.labelLimit))
        let listener = core.number()
        contents.withLock { contents in
            contents.labels[listener] = continuation
            // As above.
            for label in contents.waitingLabels { continuation.yield(label) }
            contents.waitingLabels = []
        }
        continuation.onTermination = { [self, owner] _ in
            withExtendedLifetime(owner) { unlisten { _ = $0.labels.removeValue(forKey: listener) } }
        }
        watch()
        // A slow listener's labels may outlive their time in its buffer.
        return AsyncStream { [time = core.time] in
            for await label in stream where label.isAlive(at: time.now()) { return label.label }
            return nil
        }
    }

    private func watch() {
        core.watch(feature, by: number, ClientCore.Sink(deliver: { self.receive($0) }, finish: { self.finish() }))
    }

    private func unlisten(_ remove: @Sendable (inout Contents) -> Void) {
        core.unwatch(feature, by: number)
        change { contents, _ in
            remove(&contents)
            guard !contents.isRead else { return }
            contents.presence = nil
            contents.book.unwatched()
        }
    }

    private func finish() {
        let (states, labels) = contents.withLock { ($0.states.values.map(\.self), $0.labels.values.map(\.self)) }
        for listener in states { listener.finish() }
        for listener in labels { listener.finish() }
    }

    // MARK: Deliveries

    private func receive(_ delivery: IntentDelivery) {
        switch delivery {
        case .state(let version, let intent, let bytes):
            do throws(WireDecodingError) {
                let state = try WireJSON.decode(State.self, from: bytes)
                change { contents, _ in
                    (contents.availability, contents.outdated) = (.shown, nil)
                    contents.book.show(state, version: version, intent: intent, text: bytes)
                }
            } catch {
                outdate(RemoteError(.outdated, "A state of \"\(feature)\" does not match the app's type: \(error)"))
            }
        case .label(let label):
            do throws(WireDecodingError) {
                let timed = TimedLabel(label: try WireJSON.decode(Label.self, from: label.label), end: label.end)
                change { contents, _ in contents.book.deliver(timed) }
            } catch {
                report("A label of \"\(feature)\" does not match the app's type: \(error)")
            }
        // It may come behind the last reader's end.
        case .presence(let presence): change { contents, _ in if contents.isRead { contents.presence = presence } }
        case .ended: end(.ended)
        case .denied: end(.denied)
        case .missing: end(.missing)
        case .forgotten: change { contents, _ in contents.book.reset(forgetsVersion: true) }
        case .reset(let reason, let labelsLost):
            change { contents, _ in contents.book.reset() }
            if labelsLost { report("Labels of \"\(feature)\" may be lost: \(reason).") }
        }
    }

    private func end(_ availability: Availability) {
        change { contents, _ in
            (contents.availability, contents.outdated) = (availability, nil)
            contents.book.end()
        }
    }

    /// Keeps the last state, since the newest one cannot be read.
    private func outdate(_ error: RemoteError) {
        change { contents, news in
            if contents.outdated == nil { news.reports.append(error.message) }
            (contents.availability, contents.outdated) = (.outdated, error)
            contents.book.outdated()
        }
        outdated(error)
    }

    /// The error of the newest state; nil if it can be read.
    var outdatedError: RemoteError? { contents.withLock(\.outdated) }

    // MARK: Intents

    /// Shows an intent before it is sent. Returns the callback for its progress; nil if it is not predicted.
    func predict(_ intent: Intent, body: [UInt8], key: String) -> (@Sendable (IntentProgress) -> Void)? {
        let isPredicted = change { contents, _ in contents.book.add(intent, body: body, key: key) }
        return isPredicted ? progress(of: key) : nil
    }

    /// Shows the intents of the store that an earlier run of the app kept.
    private func adopt() {
        let adopter = ClientCore.Adopter(
            resume: { [weak self] in self?.resume($0) },
            progress: { [weak self] key, progress in
                self?.change { contents, _ in contents.book.note(progress, of: key) }
            })
        core.adopt(feature, by: number, adopter)
    }

    private func resume(_ resumed: ResumedIntent) {
        func decoded<Value: Decodable>(_: Value.Type) -> Intent? {
            (try? WireJSON.decode(Value.self, from: resumed.body)) as? Intent
        }
        guard let type = Intent.self as? any Decodable.Type, let intent = decoded(type) else { return }
        change { contents, _ in
            contents.book.resume(intent, body: resumed.body, key: resumed.key, isLost: resumed.isLost)
        }
    }

    private func progress(of key: String) -> @Sendable (IntentProgress) -> Void {
        { [self] progress in change { contents, _ in contents.book.note(progress, of: key) } }
    }

    /// Shows and sends a failed intent again, with its key.
    func retry(_ key: String) {
        guard let body = change({ contents, _ in contents.book.retry(key) }) else { return }
        core.send(body, to: feature, key: key, completion: .committed, progress: progress(of: key)) { _ in }
    }

    func dismiss(_ key: String) { change { contents, _ in contents.book.dismiss(key) } }

    /// Returns when no state is held, which takes a second at most.
    func settled() async {
        await withCheckedContinuation { continuation in
            let isHolding = contents.withLock { contents in
                if contents.book.isHolding { contents.settled.append(continuation) }
                return contents.book.isHolding
            }
            if !isHolding { continuation.resume() }
        }
    }

    /// Notes the result of a posted intent.
    func note(_ failure: RemoteError?) {
        if failure == nil, contents.withLock({ $0.failure == nil }) { return }
        change { contents, news in
            contents.failure = failure
            if let failure { news.reports.append("An intent for \"\(feature)\" failed: \(failure)") }
        }
    }

    // MARK: What follows

    @discardableResult
    private func change<Result: Sendable>(_ change: (inout Contents, inout News) -> Result) -> Result {
        let (result, delivers) = contents.withLock { contents in
            var news = News()
            let hold = contents.book.isHolding ? contents.book.holdNumber : nil
            let result = change(&contents, &news)
            note(&news, hold: hold, &contents)
            contents.news.append(news)
            defer { contents.isDelivering = true }
            return (result, !contents.isDelivering)
        }
        if delivers { deliver() }
        return result
    }

    private func note(_ news: inout News, hold: Int?, _ contents: inout Contents) {
        if !contents.book.isHolding {
            swap(&news.settled, &contents.settled)
        } else if contents.book.holdNumber != hold {
            news.hold = contents.book.holdNumber
        }
        (news.labels, contents.book.labels) = (contents.book.labels, [])
        news.readers = contents.labels.values.map(\.self)
        guard news.readers.isEmpty, !news.labels.isEmpty else { return }
        contents.waitingLabels += news.labels
        let excess = contents.waitingLabels.count - Self.labelLimit
        guard excess > 0 else { return }
        contents.waitingLabels.removeFirst(excess)
        news.reports.append("No task reads the labels of \"\(feature)\". The oldest is dropped.")
    }

    /// Folds and delivers until nothing is left. Called by one thread at a time, without the lock.
    private func deliver() {
        func next() -> News? {
            contents.withLock { contents in
                let news = contents.news.popFirst()
                if news == nil { contents.isDelivering = false }
                return news
            }
        }
        while let news = next() {
            show()
            for label in news.labels { for reader in news.readers { reader.yield(label) } }
            for waiter in news.settled { waiter.resume() }
            if let hold = news.hold {
                core.after(Book.doubtLimit) { [weak self] in
                    self?.change { contents, _ in contents.book.suspend(hold: hold) }
                }
            }
            for text in news.reports { report(text) }
        }
    }

    /// Shows the present picture. A label that comes with it is delivered after it.
    private func show() {
        let (folding, confirmation, predict) = contents.withLock { contents in
            defer { contents.book.confirmation = nil }
            return (contents.book.folding, contents.book.confirmation, contents.book.predict)
        }
        let state = folding?.folded(predict)
        let (picture, listeners) = contents.withLock { contents in
            // If it has changed meanwhile, another change follows.
            guard let folding, let state, contents.book.fold(folding, state) else {
                return (contents.picture, [AsyncStream<State>.Continuation]())
            }
            contents.shownNumber += 1
            return (contents.picture, contents.states.values.map(\.self))
        }
        changed.withLock(\.self)(picture)
        if let state { for listener in listeners { listener.yield(state) } }
        guard let confirmation, !Self.isEqual(confirmation.predicted.folded(predict), confirmation.actual) else {
            return
        }
        report("A prediction for \"\(feature)\" differs from the server's state.")
    }

    private static func isEqual(_ a: State, _ b: State) -> Bool {
        func compare<Value: Equatable>(_ a: Value) -> Bool { a == b as? Value }
        return (a as? any Equatable).map { compare($0) } ?? true
    }
}
