import MVI
import SessionJournal
import WireJSON

@testable import Sessions

/// Checks after all pending tasks have completed, and the end of a run.
extension SessionSimulation {
    // MARK: At rest

    /// Runs all pending tasks until they wait, and checks the state then.
    func rest() {
        guard settle() else { return }
        // A session with an append of unknown outcome continues with the state from before it.
        if process.table.sessions.allSatisfy(\.queue.isIdle) { checkWork() }
        for session in Array(process.table.sessions) { checkRooms(of: session) }
    }

    /// Checks that work runs only while its store lives.
    private func checkWork() {
        let (stores, lives, isRemoved) = log.state.withLock { ($0.stores, $0.lives, $0.isRemoved) }
        for run in hooks.runs where !run.isCancelled {
            let store = FeatureID(run.place).flatMap { stores[$0] }
            if store?.state.life == run.life, !isRemoved { continue }
            let isKnown = lives.contains(run.life)
            log.note(
                "work of \(run.place) in life \(run.life) runs, and the store's is \(store?.state.life ?? 0)",
                isKnown && isRemoved ? .aliveAfterEnd : isKnown ? nil : .zombieOfOneBatch)
        }
    }

    /// Checks that the data of a store or a session is removed with it.
    private func checkRooms(of session: Session) {
        let (stores, waits, isLive) = session.core.withLock { core in
            (core.stores.map(\.feature), core.waits.count, core.isLive)
        }
        if isLive { return }
        if !stores.isEmpty { log.note("a session that ended has stores", .aliveAfterEnd) }
        if waits > 0 { log.note("a session that ended has requests that wait") }
    }

    // MARK: Outages

    /// Makes the journal unreachable for a while without requests of clients.
    func outage() {
        guard log.state.withLock({ $0.reminders.isEmpty }), !session.isEnding else { return }
        deliver(.act(number: lastNumber + 1, fate: .works), to: ChoreBuild.desk)
        lastNumber += 1
        guard settle() else { return }
        tell("an outage")
        process.journal.set(SimulatedJournal.Trouble(failure: 1_000))
        let before = process.journal.calls
        for _ in 0..<160 {
            pass(.milliseconds(250))
            guard settle() else { return }
        }
        let calls = process.journal.calls - before
        if calls > 80 { log.note("the journal was asked \(calls) times in 40 s in which it failed", .noBackoff) }
        process.journal.set(trouble)
    }

    /// Damages a row for a while without other faults.
    func damage() {
        guard settle() else { return }
        tell("a row is damaged")
        log.workEnds()
        process.journal.damage(true)
        process.journal.set(SimulatedJournal.Trouble(conflict: 1_000))
        for device in session.devices { intend(device) }
        _ = settle()
        process.journal.set(.none)
        for _ in 0..<60 {
            pass(.seconds(1))
            guard settle() else { return }
        }
        if let question = asked.first {
            log.note("\(question.what) is not answered: a row is damaged", .damagedForEver)
        }
        process.journal.damage(false)
        process.journal.set(trouble)
        damages += 1
    }

    // MARK: The end

    /// Starts a session after the previous one has ended.
    func beginSession() {
        rest()
        tell("another session begins")
        for device in session.devices { for stream in device.streams { read(stream) } }
        session = SimulatedSession(Int(session.key.number) + 1, kept, logs, time, &random)
    }

    private func read(_ stream: DeviceStream) { for _ in 0..<80 where stream.read() {} }

    /// Ends all faults and checks that everything completes in a bounded time.
    func finish() {
        tell("the end begins")
        process.journal.heal()
        guard settle() else { return }
        if !session.isEnding, !session.isOver {
            come(rounds: 40) {
                !session.devices.allSatisfy { $0.requests.isEmpty && !$0.isChangingAccess } || !asked.isEmpty
            }
            if finding != nil { return }
            checkAnswers()
            // All reminders are due and were tried as often as allowed.
            come(rounds: 30, each: .seconds(6)) { !log.state.withLock { $0.reminders.isEmpty } || hasNotices }
            if finding != nil { return }
            come(rounds: 3)
            checkReminders()
            checkSignIn()
            checkStreams()
            for device in session.devices {
                device.checkLabels(now: time.source.sinceEpoch()) { !isRetired($0) }
                checkViews(of: device)
            }
            rest()
            if setting.hasLives { age() }
        }
        if finding != nil { return }
        if setting.hasDeploys, build > 0 { grow() } else { leave() }
        rest()
    }

    /// Advances the time while clients repeat unanswered requests and read their streams.
    private func come(rounds: Int, each: Duration = .seconds(2), while isNeeded: () -> Bool = { true }) {
        for round in 0..<rounds where round < 3 || isNeeded() {
            for device in session.devices where !device.isGone {
                if device.signIn != nil || device.standing == .unknown, !device.isLeaving {
                    renew(device, isGold: true)
                }
                if device.isLeaving, !device.isChangingAccess { signOut(device, everywhere: false) }
                for _ in device.requests { send(device) }
                if !device.streams.contains(where: { $0.filter == "all" }) { openStream(device, "all") }
            }
            guard settle() else { return }
            for device in session.devices { for stream in device.streams { read(stream) } }
            pass(each)
            guard settle() else { return }
            if finding != nil { return }
        }
    }

    private func checkAnswers() {
        let waiting = asked.map(\.what) + session.devices.flatMap(\.requests).map { "\($0.intent)" }
        let isEndedByDamage = damages > 0 && asked.isEmpty
        if !waiting.isEmpty {
            log.note("never answered: \(waiting.sorted().prefix(3))", isEndedByDamage ? .endedByDamage : nil)
        }
    }

    /// Checks that streams that were told to close are closed, and that the queue is idle.
    private func checkStreams() {
        for stream in session.devices.flatMap(\.streams) where stream.isTold && !stream.isOver {
            log.note("a stream that was told to go is still there", .streamStays)
        }
        for session in process.table.sessions where !session.queue.isIdle {
            log.note("the queue of a session is not idle at the end")
        }
    }

    /// Checks that a stream of all stores shows what each of them has become.
    private func checkViews(of device: Device) {
        guard let stream = device.streams.first(where: { $0.filter == "all" && !$0.isTold && !$0.isOver }) else {
            return
        }
        for (feature, store) in log.state.withLock({ $0.stores }) where !isRetired(feature) {
            guard feature != ChoreBuild.vault || device.standing == .gold else { continue }
            if stream.isUpToDate(feature, store) { continue }
            log.note("a stream of all stores does not show \(feature) as it is: \(store.state)")
        }
    }

    /// Lets a drawer be unused for longer than its lifetime, while the desk is used.
    private func age() {
        for device in session.devices { for stream in device.streams { stream.close() } }
        receive()
        let before = log.state.withLock { $0.stores.filter { $0.key.name == "drawer" } }
        for _ in 0..<9 {
            deliver(.act(number: nextNumber(), fate: .well), to: ChoreBuild.desk, hasLimit: false)
            guard settle() else { return }
            pass(.seconds(30_000))
            process.table.sweep(part: 1)
            guard settle() else { return }
        }
        guard log.state.withLock({ $0.reminders.isEmpty }), !isOfAnonymous else { return }
        for (feature, old) in before where !hooks.runs.contains(where: { $0.place == feature.text }) {
            deliver(.act(number: nextNumber(), fate: .well), to: feature, hasLimit: false)
            guard settle() else { return }
            let new = log.state.withLock { $0.stores[feature] }
            if new?.made == old.made {
                log.note("\(feature) was unused for three days, and is still the store of its last turn")
            }
        }
    }

    private var isOfAnonymous: Bool { session.isOfOne && session.devices.allSatisfy { $0.standing == .anonymous } }

    private func checkReminders() {
        let (left, set, crashes) = log.state.withLock { ($0.reminders, $0.deeds, $0.crashes) }
        // A job that waits for a store, or whose append was undone, runs once more.
        let limit = 10 * (crashes + damages + 1) + 3 * (troubles + process.journal.troubles)
        if let deed = set.first(where: { hooks.tries(of: $0.number) > limit }) {
            log.note("the reminder \(deed) was tried \(hooks.tries(of: deed.number)) times", .reminderForEver)
        }
        for (name, deed) in left where build == 0 || isReadable(name) && !isRetired(name.feature) {
            let tries = hooks.tries(of: deed.number)
            log.note(
                "the reminder \(deed) of \(name.feature) is left after \(tries) tries",
                build > 0 ? .reminderUnderUnreadable : .reminderForEver)
            return
        }
    }

    private func isReadable(_ name: SessionLog.ReminderKey) -> Bool {
        log.state.withLock { $0.readable.contains(name) }
    }

    /// True if a store has yet to be told of a sign-in. After an obstacle that may pass, the next try is within a minute.
    private var hasNotices: Bool {
        process.table.sessions.contains { session in
            session.core.withLock { $0.reminders.contains { $0.event == .signIn } }
        }
    }

    /// Checks that every store that existed at a client's sign-in got it once.
    private func checkSignIn() {
        log.state.withLock { state in
            for (feature, made) in state.signInStores ?? [:] {
                guard let store = state.stores[feature], store.made == made, store.state.signedIn.isEmpty,
                    !isRetired(feature)
                else { continue }
                state.note("\(feature) was not told of a sign-in", .signInUntold)
            }
        }
    }

    /// Signs all devices out, or ends the session.
    private func leave() {
        for _ in 0..<20 where !session.isOver {
            if chance(1, of: 2) || session.isEnding {
                end()
            } else if let device = session.devices.first(where: { !$0.isGone && !$0.isChangingAccess }) {
                signOut(device, everywhere: true)
            }
            guard settle() else { return }
            for device in session.devices { for stream in device.streams { read(stream) } }
        }
        if !session.isOver { log.note("the session cannot be ended") }
        pass(.seconds(60))
        _ = settle()
        if !hooks.runs.isEmpty { checkWork() }
    }

    /// Advances the time of an unused session.
    private func grow() {
        for device in session.devices {
            for stream in device.streams { stream.close() }
            device.leave()
        }
        for _ in 0..<120 {
            pass(.seconds(24 * 3_600))
            process.table.sweep(part: 1)
            // A reminder that throws is tried as often as allowed before the session leaves memory.
            for _ in 0..<7 {
                guard settle() else { return }
                pass(.seconds(10))
            }
        }
        let left = Box<Bool>()
        kept.load(session.key, since: .empty) { if case .success(_?) = $0 { left.set(true) } }
        if left.value != nil {
            log.note("a reminder that cannot be read keeps its session for ever", .reminderUnderUnreadable)
        }
    }
}
