import DequeModule
import Locking

/// Drives a ``ClientConnection``: passes inputs to it and performs its commands.
///
/// One thread at a time performs commands; other threads add theirs to the queue. Commands are thus performed in their
/// order, without locks held.
final class ClientCore: Sendable {
    /// The callbacks of a watcher of a feature.
    struct Sink: Sendable {
        let deliver: @Sendable (IntentDelivery) -> Void
        /// Called when the client is closed.
        let finish: @Sendable () -> Void
    }

    typealias IntentResult = Result<IntentReceipt, any Error>

    /// The callbacks of an intent's caller.
    struct IntentCaller {
        let done: @Sendable (IntentResult) -> Void
        let progress: (@Sendable (IntentProgress) -> Void)?
    }

    /// The callbacks of a store that shows predictions, for intents that an earlier run of the app kept.
    struct Adopter: Sendable {
        let resume: @Sendable (ResumedIntent) -> Void
        let progress: @Sendable (_ key: String, IntentProgress) -> Void
    }

    struct Watcher {
        var count: Int
        let sink: Sink
    }

    struct State {
        var connection: ClientConnection
        var commands: Deque<Command> = []
        var isRunning = false
        var timerDeadline: Duration?
        var lastNumber: UInt64 = 0
        var intents: [UInt64: IntentCaller] = [:]
        /// The watchers by feature and number.
        var watchers: [String: [UInt64: Watcher]] = [:]
        /// The intents that an earlier run of the app kept, until they end.
        var resumed: [UInt64: ResumedIntent] = [:]
        /// By feature and number.
        var adopters: [String: [UInt64: Adopter]] = [:]
        var conditions: [UInt64: @Sendable (Condition) -> Void] = [:]
        var condition = Condition.idle
        var isClosed = false

        mutating func number() -> UInt64 {
            lastNumber += 1
            return lastNumber
        }
    }

    private enum Step {
        case run(Command)
        case setTimer(Duration?)
        case stop
    }

    let state: Lock<State>
    private let transport: any Transport
    let time: Timekeeper
    private let storage: any CredentialStorage
    let pendingStorage: (any PendingStorage)?
    let abandoned: @Sendable (WaitingIntent, RemoteError) -> Void
    let unsaved = Newest<[KeptIntent]>()
    private let identity: (@Sendable () async -> String?)?
    let report: @Sendable (String) -> Void
    private let timer = Lock<Task<Void, Never>?>(nil)
    private let credentialCalls = CallChain()
    let pendingCalls = CallChain()

    init(
        settings: ConnectionSettings, transport: any Transport, time: Timekeeper, storage: any CredentialStorage,
        identity: (@Sendable () async -> String?)?, random: @escaping @Sendable () -> Double,
        report: @escaping @Sendable (String) -> Void, pendingStorage: (any PendingStorage)? = nil,
        abandoned: @escaping @Sendable (WaitingIntent, RemoteError) -> Void = { _, _ in }
    ) {
        var settings = settings
        settings.hasIdentity = identity != nil
        settings.keepsIntents = pendingStorage != nil
        state = Lock(State(connection: ClientConnection(settings: settings, random: random)))
        self.transport = transport
        self.time = time
        self.storage = storage
        self.identity = identity
        self.report = report
        self.pendingStorage = pendingStorage
        self.abandoned = abandoned
        if pendingStorage != nil { loadIntents() }
    }

    // MARK: Inputs

    /// Passes an input to the connection. Can be called from any thread, also by commands.
    func handle(_ input: Input) {
        let now = time.now()
        let runs = state.withLock { state in
            if case .tick = input { state.timerDeadline = nil }
            return Self.handle(input, at: now, &state)
        }
        if runs { run() }
    }

    /// Returns true if the caller must perform the commands.
    private static func handle(_ input: Input, at now: Duration, _ state: inout State) -> Bool {
        state.commands.append(contentsOf: state.connection.handle(input, at: now))
        defer { state.isRunning = true }
        return !state.isRunning
    }

    func run() {
        while true {
            let step = state.withLock { state -> Step in
                if let command = state.commands.popFirst() { return .run(command) }
                if state.connection.deadline != state.timerDeadline {
                    state.timerDeadline = state.connection.deadline
                    return .setTimer(state.timerDeadline)
                }
                state.isRunning = false
                return .stop
            }
            switch step {
            case .run(let command): run(command)
            case .setTimer(let deadline): setTimer(deadline)
            case .stop: return
            }
        }
    }

    private func setTimer(_ deadline: Duration?) {
        let next = deadline.map { deadline in
            Task { [weak self, sleep = time.sleep] in
                guard (try? await sleep(deadline)) != nil else { return }
                self?.handle(.tick)
            }
        }
        let previous = timer.withLock { timer in
            defer { timer = next }
            return timer
        }
        previous?.cancel()
    }

    // MARK: Commands

    private func run(_ command: Command) {
        switch command {
        case .start(let id, let request):
            transport.start(id, request) { [weak self] event in
                switch event {
                case .head(let answer): self?.handle(.head(id, answer))
                case .bytes(let bytes): self?.handle(.bytes(id, bytes))
                case .end(let failure): self?.handle(.end(id, failure))
                }
            }
        case .cut(let id): transport.cut(id)
        case .loadCredential:
            credentialCalls.add { [storage, weak self] in
                do {
                    self?.handle(.credential(.success(try await storage.load())))
                } catch {
                    self?.handle(.credential(.failure(CredentialFailure())))
                }
            }
        case .saveCredential(let credential):
            credentialCalls.add { [storage, report] in
                do {
                    try await storage.save(credential)
                } catch {
                    report("The credential storage failed to save the credential: \(error)")
                }
            }
        case .askIdentity:
            Task { [identity, weak self] in
                let text = await identity?()
                self?.handle(.identity(text))
            }
        case .deliver(let feature, let delivery):
            let watchers = state.withLock { $0.watchers[feature] ?? [:] }
            for watcher in watchers.values { watcher.sink.deliver(delivery) }
        case .finish(let id, let result):
            let caller = state.withLock { $0.intents.removeValue(forKey: id) }
            if case .failure(let error) = result { caller?.progress?(.failed(error)) }
            caller?.done(result.mapError { $0 })
        case .resume(let id): resume(id)
        case .adopt(let feature, let number): resumeAll(of: feature, for: number)
        case .saveIntents(let list): save(list)
        case .progress(let id, let progress):
            let caller = state.withLock { $0.intents[id] }
            caller?.progress?(progress)
        case .show(let condition):
            let listeners = state.withLock { state in
                state.condition = condition
                return state.conditions
            }
            for listener in listeners.values { listener(condition) }
        case .report(let text): report(text)
        }
    }

    // MARK: Requests of the app

    /// The intents without an answer, in order.
    var waiting: [WaitingIntent] {
        state.withLock(\.connection.intents.queue).compactMap { intent in
            guard let body = intent.body else { return nil }
            return WaitingIntent(
                id: intent.key, feature: intent.feature, intent: String(decoding: body, as: UTF8.self))
        }
    }

    /// Calls `call` after a time, from any thread.
    func after(_ duration: Duration, _ call: @escaping @Sendable () -> Void) {
        let end = time.now() + duration
        Task { [sleep = time.sleep] in if (try? await sleep(end)) != nil { call() } }
    }

    func number() -> UInt64 { state.withLock { $0.number() } }

    /// Adds a watcher of a feature. Its sink is called while the count is above zero.
    func watch(_ feature: String, by watcher: UInt64, _ sink: Sink) {
        let now = time.now()
        let (isClosed, runs) = state.withLock { state -> (Bool, Bool) in
            guard !state.isClosed else { return (true, false) }
            if state.watchers[feature]?[watcher] != nil {
                state.watchers[feature]?[watcher]?.count += 1
                return (false, false)
            }
            state.watchers[feature, default: [:]][watcher] = Watcher(count: 1, sink: sink)
            return (false, Self.handle(.watch(feature), at: now, &state))
        }
        if isClosed { sink.finish() }
        if runs { run() }
    }

    func unwatch(_ feature: String, by watcher: UInt64) {
        let now = time.now()
        let runs = state.withLock { state in
            guard let count = state.watchers[feature]?[watcher]?.count else { return false }
            state.watchers[feature]?[watcher]?.count = count - 1
            guard count == 1 else { return false }
            state.watchers[feature]?[watcher] = nil
            guard state.watchers[feature]?.isEmpty == true else { return false }
            state.watchers[feature] = nil
            return Self.handle(.unwatch(feature), at: now, &state)
        }
        if runs { run() }
    }

    /// Enqueues an intent. `done` is called once, from any thread.
    ///
    /// - Parameter progress: called before; nil if nothing is predicted.
    /// - Returns: a number to cancel it with.
    @discardableResult
    func send(
        _ body: [UInt8]?, to feature: String, key: String, completion: SendCompletion,
        progress: (@Sendable (IntentProgress) -> Void)? = nil, done: @escaping @Sendable (IntentResult) -> Void
    ) -> UInt64 {
        let (now, wallTime) = (time.now(), time.wallTime())
        let (number, runs) = state.withLock { state in
            let number = state.number()
            state.intents[number] = IntentCaller(done: done, progress: progress)
            var intent = PendingIntent(id: number, feature: feature, body: body, key: key, completion: completion)
            intent.isPredicted = progress != nil
            intent.until = wallTime + state.connection.settings.patience
            return (number, Self.handle(.send(intent), at: now, &state))
        }
        if runs { run() }
        return number
    }

    /// Cancels an intent. Its caller gets a `CancellationError`, unless there is an answer already.
    func cancel(intent number: UInt64) {
        guard let caller = state.withLock({ $0.intents.removeValue(forKey: number) }) else { return }
        caller.progress?(.canceled)
        handle(.cancelIntent(number))
        caller.done(.failure(CancellationError()))
    }

    /// Calls `listener` with the present condition and each later one.
    func listen(_ number: UInt64, _ listener: @escaping @Sendable (Condition) -> Void) {
        let present = state.withLock { state in
            state.conditions[number] = listener
            return state.condition
        }
        listener(present)
    }

    func stopListening(_ number: UInt64) { state.withLock { _ = $0.conditions.removeValue(forKey: number) } }

    func close() {
        handle(.close)
        let watchers = state.withLock { state in
            defer { state.watchers = [:] }
            state.isClosed = true
            return state.watchers.values.flatMap(\.values)
        }
        for watcher in watchers { watcher.sink.finish() }
        transport.close()
    }
}
