import EventStream
import Locking
import MVI
import SessionJournal

extension Session {
    /// A number that no credential of the session has, or had.
    func nextCredentialNumber() -> Int {
        core.withLock { core in
            core.lastCredential = max(core.lastCredential, core.credentials.map(\.number).max() ?? 0) + 1
            return core.lastCredential
        }
    }

    /// Applies what is kept; returns the credentials that are new here.
    func apply(_ kept: [StoredCredential], subject: Subject?, removed: [Credential]) -> [Credential] {
        if let subject { info.belongs(to: subject) }
        let now = shared.time.monotonic()
        let (added, changes) = core.withLock { core -> ([Credential], [SessionAccessChange]) in
            core.credentials.removeAll { credential in removed.contains { $0 === credential } }
            var added: [Credential] = []
            for stored in kept where !core.credentials.contains(where: { $0.hash == stored.token }) {
                added.append(
                    Credential(
                        stored, root: tokenHash, isShared: isShared, joined: core.head.number, cookieSet: now))
            }
            core.credentials += added
            for credential in removed { core.access?[credential.number] = nil }
            var changes = [core.noteAccessChange(endingStreamsOf: removed)]
            if subject != nil {
                // The streams of the anonymous client are another client's now. Its token is revoked by the credentials.
                changes.append(core.noteAccessChange(endingStreamsOf: [nil], .identity))
                if core.gate == .signingIn { core.gate = .open }
            }
            return (added, changes)
        }
        for change in changes { change.finish() }
        return added
    }

    /// Takes what another process made of the credentials: who was signed out there is signed out here.
    func adopt(_ stored: [StoredCredential], of subject: Subject?) {
        let known = credentials
        guard !(stored.isEmpty && known.isEmpty) else { return }
        for credential in known {
            guard let newer = stored.first(where: { $0.token == credential.hash }) else { continue }
            if let until = newer.revokedUntil, !credential.isRevoked { credential.revoke(until: until) }
            if credential.adopt(newer, now: shared.time.sinceEpoch()) { identityChanged(of: credential) }
        }
        let removed = known.filter { credential in !stored.contains { $0.token == credential.hash } }
        for credential in removed { credential.revoke() }
        let isNews = info.subject == nil && subject != nil
        // A token that is new here is found in the journal, and then registered.
        _ = apply(stored, subject: isNews ? subject : nil, removed: removed)
    }

    /// A credential's principal is another one: its streams show what that may see.
    package func identityChanged(of credential: Credential) {
        recheck { $0 === credential }
        // It may be over sooner than the one that was watched.
        credential.endWatch()
        watchIdentity(of: credential)
    }

    /// Tests access anew: notes what is excluded from now on, with or without a stream, and has streams do the same before
    /// they write.
    func recheck(_ isMeant: (Credential) -> Bool) {
        core.withLock { $0.accessGeneration += 1 }
        for credential in credentials where isMeant(credential) && !shared.features.ruled.isEmpty {
            judging(.all, of: SessionClient(credential)) { $0.noteAccess(of: credential, $1, isChange: true) }
        }
        let (wakers, features) = core.withLock { core -> (ShortList<any StreamWaker>, [FeatureID]) in
            var features: [FeatureID] = []
            for index in core.streams.indices {
                guard let credential = core.streams[index].credential, isMeant(credential) else { continue }
                core.streams[index].hasNews = true
                if case .features(let named) = core.streams[index].filter { features += named }
            }
            return (core.streams.takeWakers(), features)
        }
        // Stores of features that may be used now are made.
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

    // MARK: The end of a principal's time

    /// Tells the streams of a credential before its principal's time is over, and ends them then.
    func watchIdentity(of credential: Credential) {
        guard hasExpiringStreams(of: credential), let watch = credential.beginWatch() else { return }
        let task = Task(executorPreference: shared.executor) { [weak self, clock = shared.clock] in
            while let time = self?.stepIdentity(of: credential) {
                // Cancelled: the watch has ended already.
                guard (try? await clock.sleep(for: time)) != nil else { return }
            }
            credential.endWatch(watch)
            // One that was opened meanwhile found this watch.
            self?.watchIdentity(of: credential)
        }
        credential.attach(task, to: watch)
    }

    private func hasExpiringStreams(of credential: Credential) -> Bool {
        credential.principal?.expiry != nil && hasStreams(of: credential)
    }

    /// Whether a stream of the credential is open that was not told to go.
    private func hasStreams(of credential: Credential) -> Bool {
        core.withLock { core in
            core.streams.indices.contains { index in
                core.streams[index].credential === credential && core.streams[index].farewell == nil
            }
        }
    }

    /// Does what is due; returns how long until something may be due again, nil if there is nothing to watch any more.
    private func stepIdentity(of credential: Credential) -> Duration? {
        guard let expiry = credential.principal?.expiry?.sinceEpoch, hasStreams(of: credential) else { return nil }
        let left = expiry - shared.time.sinceEpoch()
        guard left > .zero else {
            finishStreams(of: credential)
            return nil
        }
        let notice = credential.noticeTime
        // A jump of the wall clock is noticed after a minute.
        if left > notice { return min(left - notice, .seconds(60)) }
        tell(credential, left: left, expiry: expiry)
        return min(left, .seconds(60))
    }

    private func tell(_ credential: Credential, left: Duration, expiry: Duration) {
        let seconds = Int(max(1, left.components.seconds))
        let wakers = core.withLock { core in
            core.streams.change({ $0.credential === credential && $0.identityNotice?.expiry != expiry }) { stream in
                stream.identityNotice = StreamState.IdentityNotice(expiry: expiry, seconds: seconds)
            }
            return core.streams.takeWakers()
        }
        for waker in wakers { waker.wake() }
    }

    private func finishStreams(of credential: Credential) {
        let now = shared.time.monotonic()
        let wakers = core.withLock { core in
            core.streams.finish(.identity, at: core.lastPosition(now: now)) { $0.credential === credential }
            return core.streams.takeWakers()
        }
        for waker in wakers { waker.wake() }
    }
}
