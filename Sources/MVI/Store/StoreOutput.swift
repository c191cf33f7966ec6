import Locking

/// What leaves a store on its own: its turns to the log, then their states and labels to subscribers.
@usableFromInline
final class StoreOutput<F: Feature>: Sendable {
    /// What subscribers are shown of a turn.
    @usableFromInline
    struct Shown {
        /// Nil if the turn did not change it.
        @usableFromInline let view: F.ViewState?
        @usableFromInline let labels: [F.Label]

        @inlinable
        init(_ view: F.ViewState?, _ labels: [F.Label]) { (self.view, self.labels) = (view, labels) }
    }

    @usableFromInline
    struct State {
        /// The turns of the batch that runs as the log takes them; none without a log.
        var records: [TurnRecord<F>] = []
        /// The same without a log: the first one, which mostly is the only one, and those after it.
        @usableFromInline var first: Shown?
        @usableFromInline var others: [Shown] = []
        @usableFromInline var subscribers: [UInt64: Mailbox<F>] = [:]
        var lastSubscription: UInt64 = 0
        /// Labels without a subscriber to take them.
        @usableFromInline var undelivered: [F.Label] = []
        @usableFromInline var isDisposed = false
    }

    @usableFromInline let state = Lock(State())
    @usableFromInline let log: (any TurnLog<F>)?
    @usableFromInline let scope: StoreScope

    @usableFromInline
    init(_ log: (any TurnLog<F>)?, _ scope: StoreScope) {
        self.log = log
        self.scope = scope
    }

    var isDisposed: Bool { state.withLock { $0.isDisposed } }
    var subscriberCount: Int { state.withLock { $0.subscribers.count } }

    /// Adds a turn to the batch that runs.
    @inlinable
    func append(_ turn: borrowing Turn<F>, _ view: F.ViewState, _ isViewChanged: Bool) {
        if log != nil { return record(TurnRecord(turn, view: view, isViewChanged: isViewChanged)) }
        let shown = Shown(isViewChanged ? view : nil, turn.labels)
        state.withLock { state in
            if state.first == nil { state.first = shown } else { state.others.append(shown) }
        }
    }

    @usableFromInline
    func record(_ turn: TurnRecord<F>) { state.withLock { $0.records.append(turn) } }

    /// Makes the batch permanent, then the head, then visible. Returns nil if `then` will be called later.
    @inlinable
    func commit(_ runner: TurnRunner<F>, then: @escaping @Sendable (CommitOutcome) -> Void) -> CommitOutcome? {
        if log != nil { return append(runner, then: then) }
        // Mostly there is one turn and nobody to be told of it: who subscribes later finds it at the head. What is
        // replaced dies after the lock.
        var (turn, old, lost): (Shown?, TurnRunner<F>.Values?, Int) = (nil, nil, 0)
        let isTaken = state.withLock { state in
            guard state.others.isEmpty, state.subscribers.isEmpty else { return false }
            (turn, state.first) = (state.first, nil)
            old = runner.replaceHead()
            if let turn, !turn.labels.isEmpty { lost = state.keep(turn.labels, limit: scope.environment.labelLimit) }
            return true
        }
        withExtendedLifetime(old) {}
        if !isTaken { publishAll(runner) }
        if lost > 0 { scope.lostLabels(lost) }
        return .committed
    }

    @usableFromInline
    func publishAll(_ runner: TurnRunner<F>) {
        let turns = state.withLock { state in
            defer { (state.first, state.others) = (nil, []) }
            return (state.first.map { [$0] } ?? []) + state.others
        }
        publish(turns, runner)
    }

    @usableFromInline
    func append(_ runner: TurnRunner<F>, then: @escaping @Sendable (CommitOutcome) -> Void) -> CommitOutcome? {
        let turns = state.withLock { state in
            defer { state.records = [] }
            return state.records
        }
        guard let log, !turns.isEmpty else { return .committed }
        return log.commit(turns) { [self] in then(end(turns, $0, runner)) }.map { end(turns, $0, runner) }
    }

    private func end(
        _ turns: [TurnRecord<F>], _ result: CommitResult<F>, _ runner: TurnRunner<F>
    ) -> CommitOutcome {
        switch result {
        case .committed:
            publish(turns.map { Shown($0.isViewChanged ? $0.view : nil, $0.labels) }, runner)
            return .committed
        case .conflict(let newer):
            let isViewChanged = runner.stage(newer)
            replaceHead(of: runner) { state in
                if isViewChanged { state.tell(runner.view) }
                return 0
            }
            return .conflict
        case .failed(let error):
            runner.rollBack()
            return .failed(error)
        }
    }

    private func publish(_ turns: [Shown], _ runner: TurnRunner<F>) {
        replaceHead(of: runner) { [labelLimit = scope.environment.labelLimit] state in
            var lost = 0
            for turn in turns {
                if let view = turn.view { state.tell(view) }
                if !turn.labels.isEmpty { lost += state.tell(turn.labels, labelLimit: labelLimit) }
            }
            return lost
        }
    }

    /// In one step for who subscribes: the head changes, and the subscribers' mailboxes have what `body` tells them.
    /// `body` returns how many labels were given up.
    private func replaceHead(of runner: TurnRunner<F>, _ body: (inout State) -> Int) {
        let (lost, mailboxes, old) = state.withLock { state in
            let old = runner.replaceHead()
            return (body(&state), Array(state.subscribers.values), old)
        }
        withExtendedLifetime(old) {}
        for mailbox in mailboxes { mailbox.drain() }
        scope.lostLabels(lost)
    }

    // MARK: Subscribers

    /// Adds a subscriber, who is told the view now; nil if the store is disposed of.
    func subscribe(_ mailbox: Mailbox<F>, to runner: TurnRunner<F>) -> UInt64? {
        let id = state.withLock { state -> UInt64? in
            guard !state.isDisposed else { return nil }
            if mailbox.kinds.contains(.states) { mailbox.append(.state(runner.view)) }
            if mailbox.kinds.contains(.labels) {
                for label in state.undelivered { mailbox.append(.label(label)) }
                state.undelivered = []
            }
            state.lastSubscription += 1
            state.subscribers[state.lastSubscription] = mailbox
            return state.lastSubscription
        }
        if id == nil { mailbox.finish() } else { mailbox.drain() }
        return id
    }

    /// Takes a subscriber out. The labels that wait in its mailbox stay if no other had them.
    func unsubscribe(_ id: UInt64) {
        let (mailbox, events, lost) = state.withLock { state -> (Mailbox<F>?, [StoreEvent<F>], Int) in
            guard let mailbox = state.subscribers.removeValue(forKey: id) else { return (nil, [], 0) }
            // Closed under the lock so that no label is both lost here and kept there; its last holder may be us.
            let events = mailbox.close()
            guard !state.hasLabelTakers else { return (mailbox, events, 0) }
            state.undelivered.insert(contentsOf: events.compactMap { $0.label }, at: 0)
            return (mailbox, events, state.trimUndelivered(to: scope.environment.labelLimit))
        }
        withExtendedLifetime((mailbox, events)) {}
        scope.lostLabels(lost)
    }

    /// The store's end. Returns the subscribers' mailboxes, and how many labels nobody took; nil at a second call.
    func dispose() -> (mailboxes: [Mailbox<F>], lost: Int)? {
        let ended = state.withLock { state -> (mailboxes: [Mailbox<F>], lost: [F.Label])? in
            guard !state.isDisposed else { return nil }
            state.isDisposed = true
            defer { (state.subscribers, state.undelivered) = ([:], []) }
            return (Array(state.subscribers.values), state.undelivered)
        }
        return ended.map { ($0.mailboxes, $0.lost.count) }
    }
}

extension StoreOutput.State {
    var hasLabelTakers: Bool { subscribers.values.contains { $0.kinds.contains(.labels) } }

    func tell(_ view: F.ViewState) {
        for mailbox in subscribers.values where mailbox.kinds.contains(.states) { mailbox.append(.state(view)) }
    }

    /// Returns how many labels were given up.
    mutating func tell(_ labels: [F.Label], labelLimit: Int) -> Int {
        guard hasLabelTakers else { return keep(labels, limit: labelLimit) }
        for mailbox in subscribers.values where mailbox.kinds.contains(.labels) {
            for label in labels { mailbox.append(.label(label)) }
        }
        return 0
    }

    /// Keeps labels that nobody takes; returns how many were given up.
    @inlinable
    mutating func keep(_ labels: [F.Label], limit: Int) -> Int {
        undelivered += labels
        return trimUndelivered(to: isDisposed ? 0 : limit)
    }

    @inlinable
    mutating func trimUndelivered(to room: Int) -> Int {
        let excess = max(0, undelivered.count - room)
        if excess > 0 { undelivered.removeFirst(excess) }
        return excess
    }
}
