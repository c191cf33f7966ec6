import Locking
import MVI
import SessionJournal

/// The log that a message goes to. Messages of one log to another are told in order, one at a time.
struct MessageAddress: Hashable {
    let receiver: Receiver
    /// The space's name, or the instance of a feature that has none. Empty for sessions.
    let place: String

    init(_ message: Message, _ features: FeatureRegistry) {
        receiver = message.receiver
        place = receiver == .shared ? features.space(of: message.feature)?.text ?? message.feature.text : ""
    }
}

/// Tells the waiting messages of a session's log.
extension Session {
    /// Tells messages that are new or due, unless they are being told already. Calls `done` when nothing more can be told now.
    func tellMessages(done: @escaping @Sendable () -> Void = {}) {
        // The node that runs the session tells its messages.
        guard let post = shared.post, mayRun else { return done() }
        let now = shared.time.sinceEpoch()
        let (addresses, isIdle) = core.withLock { core in
            let addresses = core.beginTelling(shared.features, now: now)
            guard let rare = core.rare, !rare.telling.isEmpty else { return (addresses, true) }
            rare.tellWaiters.append(done)
            return (addresses, false)
        }
        if isIdle { return done() }
        for address in addresses {
            Task(executorPreference: shared.executor) { [self] in await tell(address, through: post) }
        }
    }

    /// The time that the end of a session leaves to its messages.
    private static var lastTime: Duration { .seconds(2) }

    /// Calls `done` when the session's messages are told, as far as that is possible soon.
    func tellLastMessages(done: @escaping @Sendable () -> Void) {
        guard core.withLock({ $0.reminders.contains { $0.event.isMessage } }) else { return done() }
        let wait = Wait(number: 0) { _ in done() }
        tellMessages { wait.end(true) }
        if !wait.isOver { shared.limit(wait, to: Self.lastTime) }
    }

    /// The number of told messages that one commit removes.
    private static var removedAtOnce: Int { 16 }

    private func tell(_ address: MessageAddress, through post: MessagePost) async {
        var told: [StoredReminder] = []
        while let next = nextMessage(to: address) {
            let outcome = await post(
                ToldMessage(next.message, from: info.id, isLastTry: next.isLastTry))
            switch outcome {
            case .ran, .replayed: told.append(next.stored)
            case .refused(let error), .unjudged(let error, _):
                await undelivered(next.stored, next.message.undelivered(error.code == .gone ? .gone : .refused, error))
            case .failed(let error, _, _) where next.isLastTry:
                await undelivered(next.stored, next.message.undelivered(.failed, error))
            case .unavailable(let error) where next.isExpired, .elsewhere(let error) where next.isExpired:
                await undelivered(next.stored, next.message.undelivered(.expired, error))
            case .failed, .unavailable: fired(next.stored, outcome)
            case .elsewhere(let error): fired(next.stored, .unavailable(error))
            case .needsStore, .dropped: fired(next.stored, .unavailable(.storeDisposed))
            }
            if told.count >= Self.removedAtOnce {
                remove(told)
                told = []
            }
        }
        remove(told)
        for waiter in core.withLock({ $0.takeTellWaiters() }) { waiter() }
    }

    /// Takes the next message to a receiver. Returns nil, and lets others begin to tell it, if there is none, its pause has
    /// not ended, or another node runs the session meanwhile.
    private func nextMessage(to address: MessageAddress) -> WaitingMessage? {
        let (now, mayRun) = (Moment(shared.time), mayRun)
        return core.withLock { core in
            if mayRun, let next = core.nextMessage(to: address, shared.features, now: now) { return next }
            _ = core.rare?.telling.remove(address)
            return nil
        }
    }

    /// Removes messages that their receivers ran. Until it is committed they may be told again.
    private func remove(_ told: [StoredReminder]) {
        guard !told.isEmpty else { return }
        removeMessages(where: told.contains) { [self] result in
            for message in told { fired(message, (try? result.get()) == true ? nil : .unavailable(.storeDisposed)) }
        }
    }

    /// True if messages to one of the receivers wait.
    func hasMessages(to receivers: [Receiver]) -> Bool {
        core.withLock { core in
            core.reminders.contains { $0.event.message.map { receivers.contains($0.receiver) } ?? false }
        }
    }

    /// Removes waiting messages to these receivers.
    func removeMessages(to receivers: [Receiver], completion: @escaping Done<Bool>) {
        removeMessages(
            where: { $0.message.map { receivers.contains($0.receiver) } ?? false }, completion: completion)
    }

    private func removeMessages(
        where isMeant: @escaping @Sendable (StoredReminder) -> Bool, completion: @escaping Done<Bool>
    ) {
        enqueue(.server, unless: { [self] in mayRun ? nil : .elsewhere(.elsewhere) }, done: completion) { core in
            let removed = core.currentReminders.filter(isMeant)
            core.batch.reminders += removed.map { .forgotten($0.feature, id: $0.id) }
            if !removed.isEmpty { core.batch.count += 1 }
            return !removed.isEmpty
        }
    }

    /// Has the feature that told a message learn that it was not delivered, and waits for the commit of that. Before it,
    /// nothing behind the message may run: its receiver would take the message, told once more, for one that ran.
    private func undelivered(_ stored: StoredReminder, _ message: UndeliveredMessage) async {
        switch message.reason {
        case .failed, .expired: shared.report(.messageLost(message, in: place(of: stored.feature)))
        case .refused, .gone: break
        }
        startLoads([stored.feature])
        await withCheckedContinuation { continuation in
            enqueue(ReminderJob(self, stored, undelivered: message) { continuation.resume() })
        }
        let now = shared.time.sinceEpoch()
        let isDue = core.withLock { core in core.reminders.contains { $0.stored == stored && $0.next <= now } }
        if isDue { pause(stored, isLasting: false) }
    }
}

/// A message to be told now.
struct WaitingMessage {
    let stored: StoredReminder
    let message: Message
    /// True if its receiver learns of a throw, since it is not tried again.
    let isLastTry: Bool
    /// True if it is not told later if that is impossible now.
    let isExpired: Bool
}

extension SessionCore {
    /// Begins to tell the receivers of messages that are new or due. Returns those that nobody tells yet.
    mutating func beginTelling(_ features: FeatureRegistry, now: Duration) -> [MessageAddress] {
        guard isLive else { return [] }
        var begun: [MessageAddress] = []
        for reminder in reminders where !reminder.isUnderWay && reminder.isDueMessage(now: now) {
            guard let message = reminder.event.message else { continue }
            let address = MessageAddress(message, features)
            if makeRare().telling.insert(address).inserted { begun.append(address) }
        }
        return begun
    }

    /// The callbacks that wait until nothing is told; none as long as something is.
    mutating func takeTellWaiters() -> [@Sendable () -> Void] {
        guard let rare, rare.telling.isEmpty else { return [] }
        let waiters = rare.tellWaiters
        rare.tellWaiters = []
        rest()
        return waiters
    }

    /// See `Session.nextMessage`.
    mutating func nextMessage(
        to address: MessageAddress, _ features: FeatureRegistry, now: Moment
    ) -> WaitingMessage? {
        var next: (index: Int, message: Message)?
        for index in reminders.indices where !reminders[index].isUnderWay {
            // The places first: in most cases the reminders are in their order.
            guard let message = reminders[index].event.message, next.map({ message.isBefore($0.message) }) ?? true,
                MessageAddress(message, features) == address
            else { continue }
            next = (index, message)
        }
        guard isLive, let next, reminders[next.index].isDueMessage(now: now.sinceEpoch) else { return nil }
        (reminders[next.index].isUnderWay, reminders[next.index].lastLook) = (true, now.monotonic)
        let reminder = reminders[next.index]
        return WaitingMessage(
            stored: reminder.stored, message: next.message, isLastTry: reminder.tries + 1 >= reminder.event.tryLimit,
            isExpired: now.sinceEpoch - reminder.stored.due >= Message.life)
    }
}

extension SessionReminder {
    /// True for a message that may be told now. A new one does not wait for the reminders' clock.
    fileprivate func isDueMessage(now: Duration) -> Bool {
        guard event.message != nil else { return false }
        return next <= now || lastLook == nil && notBefore == stored.due + Message.grace
    }
}
