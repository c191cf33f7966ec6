import Locking
import MVI
import MVITesting
import SessionJournal

@testable import Sessions

/// One process with consecutive sessions, whose clients send all kinds of requests, on one thread. The seed determines
/// each step, so a failing seed fails again.
final class SessionSimulation {
    /// The kind of simulation.
    struct Setting: Sendable {
        /// True if the process restarts with a newer build, which cannot read every reminder of the older one.
        var hasDeploys = false
        /// True if the newer build does not serve the vault any more.
        var retires = false
        /// True if drawers have a lifetime, and the time passes in hours.
        var hasLives = false
        /// True if fewer stores stay in memory than streams show.
        var hasFewLoaded = false
    }

    /// The results for clients, until they read them.
    enum Item: Sendable {
        case answer(device: Int, number: Int, IntentResult)
        case stream(device: Int, filter: String, DeltaForm?, Result<SessionStream, StoreError>)
        case identity(device: Int, Device.SignIn, Result<SignInResult, StoreError>)
        /// The answer to a sign-out, which also ends the session if `endsAll`.
        case signedOut(device: Int, endsAll: Bool, Result<Void, StoreError>)
        case ended(Result<Void, StoreError>)
        case removal(FeatureID, Result<Bool, StoreError>)
        /// `refused` is the number of changes of the device's access at a read that it had no access for; nil for others.
        case view(device: Int, FeatureID, refused: Int?, Result<StateSnapshot, StoreError>)
        case delivered(number: Int, IntentResult)
    }

    /// A running request.
    struct Question: Hashable, Sendable {
        let number: Int
        let what: String
        let life: Int
        let session: SessionKey
    }

    final class Inbox: Sendable {
        private let items = Lock<[(question: Question, item: Item)]>([])

        func put(_ item: Item, for question: Question) { items.withLock { $0.append((question, item)) } }

        func take() -> [(question: Question, item: Item)] {
            items.withLock { items in
                defer { items = [] }
                return items
            }
        }
    }

    let setting: Setting
    let builds: [ChoreBuild]
    let hooks: ChoreHooks
    var random: SplitMix
    let kept = MemoryJournal()
    let time = ManualTime()
    let logs: SessionLogs
    let trouble: SimulatedJournal.Trouble
    let profile: StepProfile
    var build = 0
    var process: ChoreProcess
    let inbox = Inbox()
    /// Grows with each crash.
    var life = 0
    /// The number of faulty answers of the journal to earlier processes.
    var troubles = 0
    var lastNumber = 0
    var lastQuestion = 0
    /// The number of times that a row was damaged. The work of a session that is evicted then ends.
    var damages = 0
    /// The requests without an answer.
    var asked: Set<Question> = []
    /// The present session.
    var session: SimulatedSession

    init(_ builds: [ChoreBuild], _ hooks: ChoreHooks, seed: UInt64, _ setting: Setting, tellsStory: Bool = false) {
        (self.builds, self.hooks, self.setting) = (builds, hooks, setting)
        random = SplitMix(seed: seed)
        trouble =
            switch random.next() % 4 {
            case 0, 1: .none
            case 2: SimulatedJournal.Trouble(failure: 80, unknown: 40, conflict: 40)
            default: SimulatedJournal.Trouble(failure: 20, unknown: 20, conflict: 20)
            }
        profile = StepProfile(&random)
        hooks.reset()
        logs = SessionLogs(hooks, setting, time, tellsStory ? Lock([]) : nil)
        process = ChoreProcess(builds[0], kept, logs, time, setting, seed: random.next(), trouble)
        hooks.begin(on: process.clock)
        session = SimulatedSession(1, kept, logs, time, &random)
    }

    var log: SessionLog { session.log }

    func tell(_ text: @autoclosure () -> String) { log.tell(text()) }

    /// The story of the run; empty unless it is recorded.
    var story: [String] { logs.story?.withLock { $0 } ?? [] }

    func any<Element>(_ elements: [Element]) -> Element { elements[Int(random.next() % UInt64(elements.count))] }

    func chance(_ number: UInt64, of all: UInt64) -> Bool { random.next() % all < number }

    // MARK: Steps

    /// Runs the simulation and returns the first finding, nil if there is none, and the known faults that were found.
    func run() -> (new: ChoreFinding?, known: [ChoreFinding]) {
        let steps = 120 + Int(random.next() % 180)
        for _ in 0..<steps {
            step()
            if finding != nil { break }
        }
        if finding == nil { finish() }
        let findings = (finding, logs.knownFindings)
        // All remaining tasks end, so that nothing outlives the run.
        hooks.begin(on: nil)
        process.crash(&random)
        return findings
    }

    var finding: ChoreFinding? { logs.finding }

    private func step() {
        receive()
        if session.isOver { beginSession() }
        if session.devices.allSatisfy(\.isGone) || session.isEnding && chance(1, of: 12) { end() }
        let device = any(session.devices)
        switch profile.next(&random) {
        case .intend: intend(device)
        case .send: send(device)
        case .burst: burst(device)
        case .work: for _ in 0..<4 { _ = process.journal.work() }
        case .tell: for _ in 0..<2 { _ = process.journal.tell() }
        case .task: for _ in 0..<4 { _ = process.executor.step(&random) }
        case .wait: pass(.milliseconds(250 * Int(1 + random.next() % 4)))
        case .waitLong: pass(.seconds(3 + Int(random.next() % 12)))
        case .sweep:
            pass(.seconds(setting.hasLives ? 30_000 : 700))
            process.table.sweep(part: 1)
        case .read: for stream in device.streams { for _ in 0..<2 { stream.read() } }
        case .open: openStream(device)
        case .close: if !device.streams.isEmpty { any(device.streams).close() }
        case .rotate: if !device.streams.isEmpty { any(device.streams).rotate() }
        case .view: readView(device)
        case .dispose: dispose(any(ChoreBuild.all), device)
        case .renew: renew(device)
        case .signOut: signOut(device, everywhere: chance(1, of: 4))
        case .end: if chance(1, of: 3) || session.isEnding { end() }
        case .deliver: deliver()
        case .crash: crash()
        case .hold: process.journal.hold(chance(1, of: 2))
        case .rest: rest()
        case .outage: outage()
        case .damage: damage()
        }
    }

    /// Handles the received results.
    func receive() {
        for (question, item) in inbox.take() where question.life == life {
            if asked.remove(question) == nil { log.note("\(question.what) was answered twice") }
            // Answers of an ended session are ignored.
            if question.session == session.key { receive(item, question) }
        }
        for device in session.devices { device.streams.removeAll(where: \.isOver) }
    }

    /// Advances the time.
    func pass(_ duration: Duration) {
        time.advance(by: duration)
        process.clock.advance(by: duration)
    }

    /// Runs all pending tasks until they wait; returns false if they never do.
    @discardableResult
    func settle() -> Bool {
        process.journal.hold(false)
        for _ in 0..<5_000 where !process.step(&random) {
            receive()
            return true
        }
        log.note("something is tried again and again")
        return false
    }

    func crash() {
        tell("crash")
        logs.crashed()
        troubles += process.journal.troubles
        process.crash(&random, before: hooks)
        logs.restarted()
        life += 1
        asked = []
        for device in session.devices {
            device.disconnected()
            if device.signIn?.keepsStores == false { log.dropLabels() }
        }
        if setting.hasDeploys, build < builds.count - 1, chance(1, of: 2) { build += 1 }
        process = ChoreProcess(builds[build], kept, logs, time, setting, seed: random.next(), trouble)
        hooks.begin(on: process.clock)
    }

    /// True if the present build does not serve a feature.
    func isRetired(_ feature: FeatureID) -> Bool { setting.retires && build > 0 && feature == ChoreBuild.vault }
}
