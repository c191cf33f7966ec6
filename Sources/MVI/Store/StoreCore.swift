/// What a store's own lock guards: its subscribers, and the batch that runs.
struct StoreCore<F: Feature> {
    /// Whether the store is new or restored, as bootstrap is told.
    var startReason: StartReason
    var isDisposed = false
    /// Whether bootstrap has to be committed before anything else.
    var owesBootstrap = true
    /// Committed turns.
    var number: UInt64 = 0
    /// The number of the last turn that changed the view state.
    var version: UInt64 = 0
    var batch = Batch()
    var subscribers: [SubscriptionID: Mailbox<F>] = [:]
    var nextSubscription: UInt64 = 0
    /// Labels without a subscriber to take them.
    var undelivered: [F.Label] = []

    /// The turns that ran and are not committed yet.
    struct Batch {
        var results: [JobResult] = []
        var turns: [TurnRecord<F>] = []
        var effects: [Effect] = []
        var number: UInt64 = 0
        var version: UInt64 = 0

        /// Nothing of a batch is before it.
        var hasBootstrap: Bool { results.first?.isBootstrap == true }
    }

    init(_ startReason: StartReason) { self.startReason = startReason }

    mutating func takeBatch() -> Batch {
        let taken = batch
        batch = Batch()
        (batch.number, batch.version) = (number, version)
        return taken
    }

    /// Takes a committed batch and tells the subscribers; returns their mailboxes, and how many labels were given up.
    mutating func apply(_ taken: Batch, labelLimit: Int) -> (mailboxes: [Mailbox<F>], lost: Int) {
        if taken.hasBootstrap { owesBootstrap = false }
        (number, version) = (taken.number, taken.version)
        (batch.number, batch.version) = (number, version)
        var lost = 0
        for turn in taken.turns {
            if turn.isViewChanged { tellStates(turn.view) }
            if !turn.labels.isEmpty { lost += tell(turn.labels, labelLimit: labelLimit) }
        }
        return (Array(subscribers.values), lost)
    }

    func tellStates(_ view: F.ViewState) {
        for mailbox in subscribers.values where mailbox.takesStates { mailbox.append(.state(view)) }
    }

    private mutating func tell(_ labels: [F.Label], labelLimit: Int) -> Int {
        let takers = subscribers.values.filter { $0.takesLabels }
        for mailbox in takers {
            for label in labels { mailbox.append(.label(label)) }
        }
        guard takers.isEmpty else { return 0 }
        undelivered += labels
        return trimUndelivered(to: isDisposed ? 0 : labelLimit)
    }

    private mutating func trimUndelivered(to room: Int) -> Int {
        let excess = undelivered.count - room
        guard excess > 0 else { return 0 }
        undelivered.removeFirst(excess)
        return excess
    }

    /// Takes a subscriber out and closes its mailbox. The labels that wait in it stay if no other had them; returns how
    /// many of them were given up.
    mutating func unsubscribe(_ id: SubscriptionID, labelLimit: Int) -> (mailbox: Mailbox<F>?, lost: Int) {
        guard let mailbox = subscribers.removeValue(forKey: id) else { return (nil, 0) }
        let labels = mailbox.close()
        guard !subscribers.values.contains(where: { $0.takesLabels }) else { return (mailbox, 0) }
        undelivered = labels + undelivered
        return (mailbox, trimUndelivered(to: labelLimit))
    }

    /// Ends the store: returns its subscribers' mailboxes and how many labels nobody took; nil at a second call.
    mutating func dispose() -> (mailboxes: [Mailbox<F>], lost: Int)? {
        guard !isDisposed else { return nil }
        isDisposed = true
        defer {
            subscribers = [:]
            undelivered = []
        }
        return (Array(subscribers.values), undelivered.count)
    }
}
