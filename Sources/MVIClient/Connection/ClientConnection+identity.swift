import WireJSON

/// Presenting the user's identity to the server.
extension ClientConnection {
    /// Requests an identity, or a newer one, for the server.
    ///
    /// - Parameters:
    ///   - isNeeded: true if the client cannot continue without it.
    mutating func wantIdentity(isNeeded: Bool) {
        if session.renewal != nil {
            if isNeeded { session.renewal?.isNeeded = true }
        } else {
            session.renewal = SessionState.Renewal(isNeeded: isNeeded)
        }
    }

    /// Starts a sign-in, possibly of another user.
    ///
    /// - Parameter keepsStores: true to keep the stores of an anonymous session.
    mutating func signIn(keepsStores: Bool) {
        guard settings.hasIdentity else { return }
        session.isSignedIn = true
        defer { if !keepsStores { disposeAtSignIn() } }
        switch session.phase {
        case .signedOut:
            session.phase = session.token == nil ? .none : .ready
            if session.token != nil { wantIdentity(isNeeded: true) }
        // A session that is created or loaded without the identity receives it afterwards.
        case .ready, .unread, .loading, .making, .waiting: wantIdentity(isNeeded: false)
        case .none, .asking, .ending, .ended, .failed: break
        }
    }

    /// Fails waiting intents if the sign-in disposes of stores; later intents wait for the sign-in.
    private mutating func disposeAtSignIn() {
        // A request in flight is left unchanged.
        guard let renewal = session.renewal, renewal.step != .putting, renewal.keepsStores else { return }
        session.renewal?.keepsStores = false
        markFormerIntents()
    }

    /// Defers a refusal of the session's credential while a sign-in is unanswered: it may have replaced the credential.
    /// The client then sends nothing else before the answer. Returns false if no sign-in is unanswered.
    mutating func deferToSignIn() -> Bool {
        guard session.renewal?.identity != nil else { return false }
        session.renewal?.isNeeded = true
        return true
    }

    mutating func askIdentity() {
        guard !session.isAskingIdentity else { return }
        session.isAskingIdentity = true
        commands.append(.askIdentity)
    }

    mutating func identified(_ identity: String?) {
        session.isAskingIdentity = false
        if case .asking = session.phase {
            // Without a network, the identity is requested again when there is one.
            session.phase = .none
            guard let identity else { return signOut(nil) }
            if isOnline { makeSession(identity: identity) }
        } else if case .ready = session.phase, var renewal = session.renewal, renewal.step == .asking {
            if let identity {
                renewal.identity = identity
                session.renewal = renewal
                putIdentity(identity)
            } else {
                session.renewal = nil
                keepFormerIntents()
                // A still valid identity is requested again when it expires.
                if renewal.isNeeded { signOut(nil) }
            }
        }
    }

    mutating func advanceRenewal() {
        guard let renewal = session.renewal else { return }
        switch renewal.step {
        case .wanted:
            guard settings.hasIdentity else {
                session.renewal = nil
                if renewal.isNeeded { signOut(nil) }
                return
            }
            session.renewal?.step = .asking
            askIdentity()
        case .waiting(let until) where until <= now:
            if let identity = renewal.identity { putIdentity(identity) }
        case .asking, .putting, .waiting: break
        }
    }

    private mutating func putIdentity(_ identity: String) {
        session.renewal?.step = .putting
        var body = Array(#"{"identity":"#.utf8)
        WireJSON.appendString(identity, to: &body)
        if session.renewal?.keepsStores == false { body += Array(#","keep":false"#.utf8) }
        body.append(UInt8(ascii: "}"))
        start(.putIdentity, request("PUT", "/sessions/current/identity", body: body))
    }

    mutating func identityPut(_ result: Result<HTTPAnswer, TransportFailure>) {
        guard case .ready = session.phase, let renewal = session.renewal, renewal.step == .putting else { return }
        guard case .success(let answer) = result else { return putIdentityLater(nil) }
        let problem = ServerProblem(answer)
        switch (answer.status, problem.name) {
        case (200, _), (204, _):
            session.renewal = nil
            session.isSignedIn = true
            sessionWasTaken()
            let described = try? WireJSON.decode(Described.self, from: answer.body)
            session.id = described?.id ?? session.id
            session.user = described?.subject ?? .unknown
            // Denied features may be allowed now.
            stream.refused = [:]
            guard let token = newCredential(in: answer), token != session.token else { return keepFormerIntents() }
            replaceToken(token)
            closeStream()
            failFormerIntents(
                RemoteError(.sessionEnded, "The sign-in disposed of the intent's store."))
        case (401, "unauthorized"?), (401, nil), (404, "session-not-found"?): forgetSession()
        case (404, "session-ended"?): endSession()
        case (409, "other-identity"?):
            // Waiting intents do not belong to another user.
            failIntents(RemoteError(.sessionEnded, "Another user signed in before the intent was answered."))
            session.madeInARow = 0
            forgetSession()
        case (401, _), (400, _), (403, _), (413, _), (422, _):
            session.renewal = nil
            keepFormerIntents()
            commands.append(.report("The server refuses the identity: \(problem)."))
            if renewal.isNeeded { signOut(problem) }
        default: putIdentityLater(answer.retryAfter)
        }
    }

    private mutating func putIdentityLater(_ asked: Duration?) {
        guard let attempts = session.renewal?.attempts else { return }
        let delay = retryTime(asked, attempts: attempts)
        session.renewal?.step = .waiting(until: now + delay)
        session.renewal?.attempts += 1
    }

    /// Enters the signed-out state, since no identity is accepted. The session's credential is kept for `signIn`.
    mutating func signOut(_ problem: ServerProblem?) {
        session.phase = .signedOut
        forgetPresences()
        session.renewal = nil
        closeStream()
        failIntents(
            RemoteError(.signedOut, "The server requires an identity; sign in again.", problem: problem))
    }
}
