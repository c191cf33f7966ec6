import Locking
import MVI
import SessionJournal
import WireJSON

/// Stores are told of a sign-in by reminders that are due at once and kept with it: so each is told once, also where the
/// process ends in between. The turn that tells a store forgets its reminder.
extension Session {
    /// The reminders that tell the session's stores of a sign-in. Only while its turns are held these are all.
    func signInReminders(_ principal: Principal, credential: Int?) throws(StoreError) -> [StoredReminder] {
        let features = core.withLock { $0.stores.map(\.feature) }
        guard !features.isEmpty else { return [] }
        let sign = try SignIn(principal: principal, credential: credential).encoded
        let now = shared.time.sinceEpoch()
        return features.map { StoredReminder(signIn: sign, of: $0, due: now) }
    }

    /// Notes reminders that are kept. Only while the session's turns are held.
    func note(_ reminders: [StoredReminder]) {
        let now = Moment(shared.time)
        core.withLock { $0.reminders.apply(reminders.map { .set($0) }, now: now) }
    }

    /// Has each store perform its feature's `signedIn` that is to be told of a sign-in; returns when that is committed, or
    /// failed. The rest is left to the reminders' clock.
    func tellStores() async {
        let now = Moment(shared.time)
        let due = core.withLock { $0.takeDueReminders(now: now) { $0.isSignIn } }
        await awaitResult { done in fire(due) { done(()) } }
    }

    /// Tells the stores that a principal has signed in, without a credential. For tests of features.
    package func tellStores(of principal: Principal) async throws(StoreError) {
        let turns = try await holdTurns()
        defer { turns.release() }
        let reminders = try signInReminders(principal, credential: nil)
        guard !reminders.isEmpty else { return }
        let key = try await awaitResult { keep($0) }.get()
        let change = CredentialChange(
            session: key, expecting: info.subject, subject: info.subject, reminders: reminders)
        try await awaitResult { shared.journal.change(change, done: $0) }.get()
        note(reminders)
        turns.release()
        await tellStores()
    }

    /// Has nothing of the session run, when the turns that were begun are over, until the turns are released.
    func holdTurns() async throws(StoreError) -> HeldTurns {
        try await awaitResult { enqueue(HeldTurns($0)) }.get()
    }
}

/// A job that holds its queue from its turn on until it is released.
final class HeldTurns: QueueJob {
    private enum State {
        case waiting(@Sendable (Result<HeldTurns, StoreError>) -> Void)
        case holding(@Sendable () -> Void)
        case over
    }

    private let state: Lock<State>

    /// - Parameter begun: called once: when nothing of the session runs any more, or with why that will never be.
    init(_ begun: @escaping @Sendable (Result<HeldTurns, StoreError>) -> Void) { state = Lock(.waiting(begun)) }

    var lane: JobLane { .steps }

    func run() -> (any QueueJob)? { state.withLock { if case .over = $0 { nil } else { self } } }

    func whenReady(_ resume: @escaping @Sendable () -> Void) -> Bool {
        guard let begun = begin(as: .holding(resume)) else { return false }
        begun(.success(self))
        return true
    }

    /// Who holds it already goes on, and releases it.
    func end(_ error: StoreError) { begin(as: .over)?(.failure(error)) }

    /// Lets the session go on. A second call does nothing.
    func release() {
        let old = state.withLock { state in
            defer { state = .over }
            return state
        }
        if case .holding(let resume) = old { resume() }
    }

    /// Changes the state of one that waits; nil, and nothing changes, if it does not.
    private func begin(as new: State) -> (@Sendable (Result<HeldTurns, StoreError>) -> Void)? {
        state.withLock { state in
            guard case .waiting(let begun) = state else { return nil }
            state = new
            return begun
        }
    }
}

/// What a store is told of a sign-in, as the action of its reminder.
struct SignIn: Codable {
    let principal: Principal
    /// The number of the credential; nil where there is none.
    let credential: Int?

    init(principal: Principal, credential: Int?) { (self.principal, self.credential) = (principal, credential) }

    init(_ reminder: StoredReminder) throws { self = try WireJSON.decode(SignIn.self, from: reminder.action) }

    var encoded: [UInt8] {
        get throws(StoreError) {
            do throws(WireEncodingError) { return try WireJSON.encode(self) } catch {
                throw StoreError(.refused, "The identity's claims cannot be kept: \(error.detail)")
            }
        }
    }

    /// Its turn, and whose it is.
    var turn: (RunTurn, Principal) {
        let named = credential.map { principal.of(credential: $0) } ?? principal
        return ({ $0.signedIn(named, $1) }, named)
    }
}

extension StoredReminder {
    /// Not ASCII, so that hardly any author gives it.
    private static let signInID = "‹sign-in›"

    fileprivate init(signIn action: [UInt8], of feature: FeatureID, due: Duration) {
        self.init(feature: feature, id: Self.signInID, due: due, number: 0, action: action)
    }

    /// Whether it tells a store of a sign-in. No turn has set it, so no author.
    var isSignIn: Bool { number == 0 && id == Self.signInID }
}

extension IntentID {
    /// What the turns of a sign-in go by. Not ASCII, so that no key that a client sends can be it.
    static let signIn = IntentID("‹sign-in›")
}
