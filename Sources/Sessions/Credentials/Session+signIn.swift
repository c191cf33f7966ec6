import Locking
import MVI
import SessionJournal
import WireJSON

/// Stores are told of a sign-in by reminders that are due at once and kept with it: so each is told once, also where the
/// process ends in between. The turn that tells a store forgets its reminder.
extension Session {
    /// The reminders that tell the session's stores of a sign-in; the turns that are under way may make some yet, and are
    /// waited for.
    func signInReminders(_ principal: Principal, credential: Int?) async throws(StoreError) -> [StoredReminder] {
        await withCheckedContinuation { continuation in afterWaitingTurns { continuation.resume() } }
        let features = core.withLock { $0.stores.map(\.feature) }
        guard !features.isEmpty else { return [] }
        let sign = try SignIn(principal: principal, credential: credential).encoded
        let now = shared.time.sinceEpoch()
        return features.map { StoredReminder(signIn: sign, of: $0, due: now) }
    }

    /// Has each store perform its feature's `signedIn` that is to be told of a sign-in; returns when that is committed, or
    /// failed. The rest is left to the reminders' clock.
    func tellStores() async {
        let now = Moment(shared.time)
        let due = core.withLock { $0.takeDueReminders(now: now) { $0.isSignIn } }
        startLoads(due.map(\.feature))
        await withCheckedContinuation { continuation in fire(due) { continuation.resume() } }
    }

    /// Tells the stores that a principal has signed in, without a credential. For tests of features.
    package func tellStores(of principal: Principal) async throws(StoreError) {
        let reminders = try await signInReminders(principal, credential: nil)
        guard !reminders.isEmpty else { return }
        let key = try await withCheckedContinuation { continuation in keep { continuation.resume(returning: $0) } }
            .get()
        let change = CredentialChange(
            session: key, expecting: info.subject, subject: info.subject, reminders: reminders)
        let result: Result<Void, StoreError> = await withCheckedContinuation { continuation in
            shared.journal.change(change) { continuation.resume(returning: $0) }
        }
        try result.get()
        await withCheckedContinuation { continuation in catchUp { continuation.resume() } }
        await tellStores()
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

    func turn(on store: SessionStore) -> (RunTurn, Principal) {
        let named = credential.map { principal.of(credential: $0) } ?? principal
        return (store.runner.signedIn(named), named)
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
