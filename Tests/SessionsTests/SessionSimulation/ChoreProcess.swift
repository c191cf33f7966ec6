import Locking
import MVI
import MVITesting
import SessionJournal
import WireJSON

@testable import Sessions

/// One process's life, from its start to its crash.
final class ChoreProcess {
    let journal: SimulatedJournal
    let executor = SteppedExecutor()
    let clock = ManualClock()
    let table: SessionTable
    private let reminders: Task<Void, Never>

    static func limits(_ setting: SessionSimulation.Setting) -> SessionLimits {
        var limits = SessionLimits.patient
        limits.sessionLife = .seconds(100_000)
        (limits.credentialLife, limits.subjectLife) = (.seconds(90_000), limits.sessionLife)
        (limits.stateBytes, limits.outboxLabels, limits.reminders) = (4_000, 8, 6)
        (limits.queuedIntents, limits.streamsPerSession) = (8, 2)
        if setting.hasLives {
            limits.sessionLife = .seconds(2_000_000)
            (limits.credentialLife, limits.subjectLife) = (limits.sessionLife, limits.sessionLife)
            limits.receiptLife = limits.sessionLife
        }
        if setting.hasFewLoaded { limits.loadedStores = 1 }
        return limits
    }

    init(
        _ build: ChoreBuild, _ kept: MemoryJournal, _ logs: SessionLogs, _ time: ManualTime,
        _ setting: SessionSimulation.Setting, seed: UInt64, _ trouble: SimulatedJournal.Trouble
    ) {
        journal = SimulatedJournal(
            kept, seed: seed, trouble: trouble,
            witness: SimulatedJournal.Witness(
                committed: { logs[$0.session]?.committed($0) }, changed: { logs[$0.session]?.changed($0) },
                removed: { logs[$0]?.removed() }))
        let table = SessionTable(
            environment: SessionEnvironment(
                features: build.features, limits: Self.limits(setting), journal: journal, time: time.source,
                clock: CoarseClock(clock: clock), executor: executor,
                // The same delays in each run of a seed.
                adjust: { $0.jitter = { $0 } }))
        self.table = table
        reminders = Task(executorPreference: executor) { await table.runReminders() }
    }

    /// Runs one waiting task; returns false if there is none.
    func step(_ random: inout SplitMix) -> Bool { journal.work() || journal.tell() || executor.step(&random) }

    /// Ends the process. Some of its requests to the journal are executed; then all its tasks end unseen.
    func crash(_ random: inout SplitMix, before hooks: ChoreHooks? = nil) {
        journal.crash(isClosedLater: true)
        hooks?.begin(on: nil)
        reminders.cancel()
        journal.close()
        for session in Array(table.sessions) { session.end(.drain) }
        for _ in 0..<10_000 {
            if step(&random) { continue }
            guard clock.sleeperCount > 0 else { return }
            clock.run()
        }
    }
}

/// The expected changes of the journal, by session.
final class SessionLogs: Sendable {
    private let logs = Lock<[SessionKey: SessionLog]>([:])
    private let hooks: ChoreHooks
    private let limits: SessionLimits
    private let time: ManualTime
    private let drawerLife: Duration?
    /// The story of the run; nil if it is not recorded.
    let story: Lock<[String]>?

    init(_ hooks: ChoreHooks, _ setting: SessionSimulation.Setting, _ time: ManualTime, _ story: Lock<[String]>?) {
        (self.hooks, limits, self.time, self.story) = (hooks, ChoreProcess.limits(setting), time, story)
        drawerLife = setting.hasLives ? .seconds(86_400) : nil
    }

    subscript(key: SessionKey) -> SessionLog? { logs.withLock { $0[key] } }

    func begin(_ key: SessionKey) -> SessionLog {
        let log = SessionLog(
            hooks, reminders: limits.reminders, labels: limits.outboxLabels, now: time.source.sinceEpoch, story)
        log.state.withLock { $0.drawerLife = drawerLife }
        logs.withLock { $0[key] = log }
        return log
    }

    func crashed() { for log in logs.withLock({ Array($0.values) }) { log.crashed() } }

    func restarted() { for log in logs.withLock({ Array($0.values) }) { log.restarted() } }

    private var all: [SessionLog] {
        logs.withLock { logs in logs.sorted { $0.key.number < $1.key.number }.map(\.value) }
    }

    /// The first finding, except known faults.
    var finding: ChoreFinding? { all.lazy.compactMap(\.finding).first }

    /// The known faults that were found.
    var knownFindings: [ChoreFinding] { all.flatMap(\.knownFindings) }
}

/// A session with its devices.
final class SimulatedSession {
    let token: TokenHash
    let key: SessionKey
    let log: SessionLog
    var devices: [Device]
    let subject: Subject
    /// The number of started and finished changes of access.
    var changes = 0
    /// The same number; -1 during a change.
    var settledChanges: Int { devices.contains(where: \.isChangingAccess) ? -1 : changes }
    /// True if it is being ended, and true if it has ended.
    var isEnding = false
    var isOver = false
    /// True if code outside the features ends it; a sign-out does not change that.
    var isEndedFromOutside = false
    /// True if its devices do not share it.
    let isOfOne: Bool

    /// Creates a stored session.
    init(_ number: Int, _ kept: MemoryJournal, _ logs: SessionLogs, _ time: ManualTime, _ random: inout SplitMix) {
        func token(_ random: inout SplitMix) -> SessionToken {
            SessionToken(random: (0..<32).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        }
        let root = token(&random)
        self.token = root.hash
        subject = Subject(issuer: "i", id: "anna\(number)")
        let isAnonymous = random.next() % 3 == 0
        isOfOne = isAnonymous
        let now = time.source.sinceEpoch()
        let record = SessionRecord(
            id: "session-\(number)", tokenHash: root.hash, epoch: "epoch\(number)", credential: .bearer, created: now,
            lastSeen: now, subject: isAnonymous ? nil : subject, isShared: !isAnonymous)
        let key = Box<SessionKey>()
        kept.create(record) { if case .success(let made) = $0 { key.set(made) } }
        guard let key = key.value else { preconditionFailure("a memory journal keeps a session") }
        (self.key, log) = (key, logs.begin(key))
        guard !isAnonymous else {
            log.state.withLock { $0.isAnonymous = true }
            devices = [Device(0, root, .anonymous, log)]
            return
        }
        var credentials: [StoredCredential] = []
        devices = []
        for number in 0..<2 {
            let (token, isGold) = (token(&random), random.next() % 3 > 0)
            let principal = try? WireJSON.encode(Self.principal(subject, isGold: isGold, serial: 0))
            credentials.append(
                StoredCredential(
                    token: token.hash, kind: .bearer, number: number + 1, principal: principal ?? [], made: now))
            devices.append(Device(number, token, isGold ? .gold : .free, log))
        }
        kept.change(CredentialChange(session: key, expecting: subject, subject: subject, kept: credentials)) { _ in }
    }

    static func principal(_ subject: Subject, isGold: Bool, serial: Int) -> Principal {
        Principal(
            issuer: subject.issuer, subject: subject.id,
            claims: ["tier": .string(isGold ? "gold" : "free"), "serial": .integer(serial)])
    }
}
