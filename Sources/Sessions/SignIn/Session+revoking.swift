import Locking
import MVI
import SessionJournal

/// Changes that take access away, each at once.
extension Session {
    /// Excludes the token that the session began with, at once: a client signs in.
    func beginSignIn() {
        core.withLock { core in
            switch core.gate {
            case .open: core.gate = .signingIn(running: 1)
            case .signingIn(let running): core.gate = .signingIn(running: running + 1)
            case .ending: break
            }
            // Waits are told that the token is replaced, after that is committed.
            return noteAccessChange(&core, endingStreamsOf: [nil], .identity, endsWaits: false)
        }.finish()
    }

    /// Ends a sign-in that failed. One that certainly failed lets the client go on as before; after another one the log is
    /// read again, which tells.
    func endSignIn(isCertain: Bool) {
        let isUnknown = core.withLock { core in
            guard case .signingIn(let running) = core.gate else { return false }
            core.gate = running > 1 || !isCertain ? .signingIn(running: max(0, running - 1)) : .open
            accessGeneration.add(1, ordering: .releasing)
            return !isCertain
        }
        if isUnknown { catchUp() }
    }

    /// Lets an anonymous client go on: a sign-in with an unknown outcome has failed.
    func noteNoSignIn() {
        core.withLock { core in
            guard core.gate == .signingIn(running: 0) else { return }
            core.gate = .open
            accessGeneration.add(1, ordering: .releasing)
        }
    }

    /// Excludes credentials, at once.
    func close(_ credentials: [Credential], _ reason: GoAwayReason = .ended) {
        guard !credentials.isEmpty else { return }
        for credential in credentials { credential.revoke() }
        core.withLock { noteAccessChange(&$0, endingStreamsOf: credentials, reason) }.finish()
    }

    /// Restricts a credential, at once, to what the principal that will replace its own may do as well.
    func restrict(_ credential: Credential, to principal: Principal) -> Credential.Renewal {
        let (renewal, change) = core.withLock { core in
            (credential.restrict(to: principal, since: core.head.number), noteAccessChange(&core))
        }
        change.finish()
        return renewal
    }

    /// Returns the history to store for a renewal that takes effect now: after the turns that are being appended, since a
    /// crash may leave it as it is.
    func history(of credential: Credential, renewedBy renewal: Credential.Renewal) -> PrincipalHistory {
        core.withLock { credential.history(renewedBy: renewal, at: $0.lastAppended, $0.outbox, of: $0.head.number) }
    }

    /// Lets a stored renewal take effect, after the turns that are being appended: they ran before it. Returns the history to
    /// store now.
    func renew(_ credential: Credential, by renewal: Credential.Renewal) -> PrincipalHistory {
        let now = Moment(shared.time)
        return core.withLock { core in
            accessGeneration.add(1, ordering: .releasing)
            return credential.renew(by: renewal, at: core.lastAppended, core.outbox, of: core.head.number, now: now)
        }
    }

    /// Excludes every client, at once: the session is being ended. Its waits are answered after the commit, or at their
    /// timeout.
    func closeAll() {
        core.withLock { core in
            core.gate = .ending
            return noteAccessChange(&core, endingStreamsOf: [nil] + core.credentials, .ended, endsWaits: false)
        }.finish()
    }
}
