import EventStream
import Locking
import MVI
import SessionJournal
import WireJSON

/// Stores are told of a sign-in by reminders that are due at once and committed with it. So each store is told exactly
/// once, even if the process ends in between: its turn deletes its reminder.
extension Session {
    /// Returns the reminders that tell the stores of a sign-in. Complete only while the session's turns are held.
    func signInReminders(_ principal: Principal, credential: Int?) throws(StoreError) -> [StoredReminder] {
        // A store that this build does not serve learns of the subject at its next start.
        let features = core.withLock { $0.stores.map(\.feature) }.filter {
            shared.features.definition(for: $0, in: space) != nil
        }
        guard !features.isEmpty else { return [] }
        let sign = try SignIn(principal: principal, credential: credential).encoded
        let now = shared.time.sinceEpoch()
        return features.map { StoredReminder(signIn: sign, of: $0, due: now) }
    }

    /// Adds stored reminders. Only while the session's turns are held.
    func note(_ reminders: [StoredReminder]) {
        let now = Moment(shared.time)
        core.withLock { $0.reminders.apply(reminders.map { .set($0) }, now: now) }
    }

    /// Runs the features' `signedIn` in each store that has to be told of a sign-in. Returns after the commit or
    /// failure. The reminders' clock does the rest.
    func tellStores() async {
        let now = Moment(shared.time)
        let due = core.withLock { $0.takeDueReminders(now: now) { $0 == .signIn } }
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

    /// Waits for the running turns, then holds all turns of the session until they are released.
    func holdTurns() async throws(StoreError) -> HeldTurns {
        try await awaitResult { enqueue(HeldTurns($0)) }.get()
    }
}

/// A job that blocks its queue from its turn on until it is released.
final class HeldTurns: QueueJob {
    private enum State {
        case waiting(@Sendable (Result<HeldTurns, StoreError>) -> Void)
        case holding(@Sendable () -> Void)
        case over
    }

    private let state: Lock<State>

    /// - Parameter begun: called once: when no turn of the session runs any more, or with the reason why that fails.
    init(_ begun: @escaping @Sendable (Result<HeldTurns, StoreError>) -> Void) { state = Lock(.waiting(begun)) }

    var lane: JobLane { .steps }

    func run() -> WaitingJob? {
        state.withLock { if case .over = $0 { nil } else { WaitingJob(self, whenReady: hold) } }
    }

    private func hold(until resume: @escaping @Sendable () -> Void) -> Bool {
        guard let begun = begin(as: .holding(resume)) else { return false }
        begun(.success(self))
        return true
    }

    /// A holder that has begun goes on, and releases the turns.
    func end(_ error: StoreError) { begin(as: .over)?(.failure(error)) }

    /// Lets the session go on. A second call does nothing.
    func release() {
        let old = state.withLock { state in
            defer { state = .over }
            return state
        }
        if case .holding(let resume) = old { resume() }
    }

    /// Changes the state of a waiting job. Returns nil, and changes nothing, if it does not wait.
    private func begin(as new: State) -> (@Sendable (Result<HeldTurns, StoreError>) -> Void)? {
        state.withLock { state in
            guard case .waiting(let begun) = state else { return nil }
            state = new
            return begun
        }
    }
}

/// The content of a sign-in, as the action of a store's reminder.
struct SignIn: Codable {
    let principal: Principal
    /// The number of the credential; nil if there is none.
    let credential: Int?

    init(principal: Principal, credential: Int?) { (self.principal, self.credential) = (principal, credential) }

    init(_ reminder: StoredReminder) throws { self = try WireJSON.decode(SignIn.self, from: reminder.action) }

    var encoded: [UInt8] {
        get throws(StoreError) {
            do throws(WireEncodingError) { return try WireJSON.encode(self) } catch {
                throw StoreError(.refused, "The identity's claims cannot be stored: \(error.detail)")
            }
        }
    }

    /// The turn of the sign-in, and its principal.
    var turn: (RunTurn, Principal) {
        let named = credential.map { principal.of(credential: $0) } ?? principal
        return ({ $0.signedIn(named, $1) }, named)
    }
}

extension IntentID {
    /// The intent id of a sign-in's turns. Not ASCII, so that it differs from every key of a client.
    static let signIn = IntentID("‹sign-in›")
}

extension Session {
    /// Returns a number that no credential of the session has, or had.
    func nextCredentialNumber() -> Int {
        core.withLock { core in
            core.lastCredential = max(core.lastCredential, core.credentials.map(\.number).max() ?? 0) + 1
            return core.lastCredential
        }
    }

    /// Applies the stored credentials. Returns those that are new here.
    func apply(_ kept: [StoredCredential], subject: Subject?, removed: [Credential]) -> [Credential] {
        if let subject { info.belongs(to: subject) }
        let now = shared.time.monotonic()
        let (added, changes) = core.withLock { core -> ([Credential], [SessionAccessChange]) in
            core.credentials.removeAll { credential in removed.contains { $0 === credential } }
            var added: [Credential] = []
            for stored in kept where !core.credentials.contains(where: { $0.hash == stored.token }) {
                added.append(
                    Credential(
                        stored, root: tokenHash, isShared: isShared, joined: core.head.number, lastUse: now,
                        cookieSet: now))
            }
            core.credentials += added
            for credential in removed { core.access?[credential.number] = nil }
            var changes = [noteAccessChange(&core, endingStreamsOf: removed)]
            if subject != nil {
                core.life = LifeClass(isOfSubject: true, isShared: isShared)
                // The anonymous client's streams are another client's now. Storing the credentials revokes its token.
                changes.append(noteAccessChange(&core, endingStreamsOf: [nil], .identity))
                if case .signingIn = core.gate { core.gate = .open }
            }
            return (added, changes)
        }
        for change in changes { change.finish() }
        return added
    }

    /// Adopts the credentials that another process stored: clients that signed out there are signed out here.
    func adopt(_ stored: [StoredCredential], of subject: Subject?) {
        let known = credentials
        guard !(stored.isEmpty && known.isEmpty) else { return noteNoSignIn() }
        for credential in known {
            guard let newer = stored.first(where: { $0.token == credential.hash }) else { continue }
            if let until = newer.revokedUntil, !credential.isRevoked { credential.revoke(until: until) }
            if credential.adopt(newer, now: Moment(shared.time)) { identityChanged(of: credential) }
        }
        let removed = known.filter { credential in !stored.contains { $0.token == credential.hash } }
        for credential in removed { credential.revoke() }
        let isNews = info.subject == nil && subject != nil
        // A token that is new here is found in the journal, and then registered.
        _ = apply(stored, subject: isNews ? subject : nil, removed: removed)
    }

    /// Handles a credential's new principal: its streams show what that may see.
    package func identityChanged(of credential: Credential) {
        recheck { $0 === credential }
        // It may expire sooner than the one that was watched.
        credential.endWatch()
        watchIdentity(of: credential)
    }

    /// Tests access again: records new exclusions, with or without a stream, and has streams do the same before they
    /// write.
    func recheck(_ isMeant: (Credential) -> Bool) {
        accessGeneration.add(1, ordering: .releasing)
        for credential in credentials where isMeant(credential) && !shared.features.ruled.isEmpty {
            judging(.all, of: SessionClient(credential)) { $0.noteAccess(of: credential, $1, isChange: true) }
        }
        let (wakers, features) = core.withLock { core -> (ShortList<any StreamWaker>, [FeatureID]) in
            var features: [FeatureID] = []
            for index in core.streams.all.indices {
                guard let credential = core.streams.all[index].credential, isMeant(credential) else { continue }
                core.streams.all[index].hasNews = true
                if case .features(let named) = core.streams.all[index].filter { features += named }
            }
            return (core.streams.takeWakers(), features)
        }
        // Creates stores of features that may be used now.
        let missing = features.filter { !hasStore($0) }
        if !missing.isEmpty {
            for credential in credentials where isMeant(credential) {
                let client = SessionClient(credential)
                let allowed = missing.filter { refusal(of: client, $0, .read) == nil }
                if !allowed.isEmpty { open(.features(allowed), for: client) { _ in } }
            }
        }
        for waker in wakers { waker.wake() }
    }

    // MARK: The principal's expiry

    /// Tells the streams of a credential before its principal expires, and ends them then.
    func watchIdentity(of credential: Credential) {
        guard hasExpiringStreams(of: credential), let watch = credential.beginWatch() else { return }
        let task = Task(executorPreference: shared.executor) { [weak self, clock = shared.clock] in
            while let time = self?.stepIdentity(of: credential) {
                // Canceled: the watch has ended already.
                guard (try? await clock.sleep(for: time)) != nil else { return }
            }
            credential.endWatch(watch)
            // A stream that was opened meanwhile found this watch.
            self?.watchIdentity(of: credential)
        }
        credential.attach(task, to: watch)
    }

    private func hasExpiringStreams(of credential: Credential) -> Bool {
        credential.principal?.expiry != nil && hasStreams(of: credential)
    }

    /// True if the credential has an open stream that was not told to end.
    private func hasStreams(of credential: Credential) -> Bool {
        core.withLock { core in
            core.streams.all.indices.contains { index in
                core.streams.all[index].credential === credential && core.streams.all[index].farewell == nil
            }
        }
    }

    /// Performs the due steps. Returns the time until the next one, or nil if there is nothing to watch any more.
    private func stepIdentity(of credential: Credential) -> Duration? {
        guard let expiry = credential.principal?.expiry?.sinceEpoch, hasStreams(of: credential) else { return nil }
        let left = expiry - shared.time.sinceEpoch()
        guard left > .zero else {
            finishStreams(.identity) { $0.credential === credential }
            return nil
        }
        let notice = credential.noticeTime
        // A jump of the wall clock is noticed after a minute.
        if left > notice { return min(left - notice, .seconds(60)) }
        let seconds = Int(max(1, left.components.seconds))
        changeStreams { core in
            core.streams.change({ $0.credential === credential && $0.rare?.identityNotice?.expiry != expiry }) {
                stream in
                stream.makeRare().identityNotice = StreamState.IdentityNotice(expiry: expiry, seconds: seconds)
            }
        }
        return min(left, .seconds(60))
    }
}
