import WireJSON

/// Creates, keeps and ends the session.
extension ClientConnection {
    /// The description of the session in an answer.
    struct Described: Decodable {
        struct Identity: Decodable {
            var issuer: String
            var subject: String
        }
        var id: String?
        var token: String?
        var identity: Identity?

        var subject: SessionState.User? { identity.map { .subject($0.subject, issuer: $0.issuer) } }
    }

    /// Takes the next step towards a session if one is needed.
    mutating func advanceSession() {
        guard isOnline else { return }
        if case .waiting(let until) = session.phase, until <= now { session.phase = session.isRead ? .none : .unread }
        let isNeeded = !intents.queue.isEmpty || !streamFeatures.isEmpty
        switch session.phase {
        case .unread where isNeeded:
            session.phase = .loading
            commands.append(.loadCredential)
        case .none where isNeeded && session.isSignedIn:
            session.phase = .asking
            askIdentity()
        case .none where isNeeded: makeSession(identity: nil)
        case .ready:
            if session.isRestored { putSettings() }
            advanceRenewal()
        default: break
        }
    }

    mutating func loaded(_ result: Result<String?, CredentialFailure>) {
        guard case .loading = session.phase else { return }
        switch result {
        case .success(let token):
            session.isRead = true
            session.attempts = 0
            session.token = token
            session.user = settings.hasIdentity ? .unknown : .anonymous
            session.phase = token == nil ? .none : .ready
            session.isRestored = token != nil
        case .failure:
            commands.append(.report("The credential storage cannot be read; this is retried later."))
            waitForSession(nil)
        }
    }

    mutating func makeSession(identity: String?) {
        session.phase = .making
        session.token = nil
        session.isMadeWithIdentity = identity != nil
        var body = Array(#"{"credential":"\#(settings.credential == .bearer ? "bearer" : "cookie")""#.utf8)
        if let identity {
            body += Array(#","identity":"#.utf8)
            WireJSON.appendString(identity, to: &body)
        }
        body += settingsMembers(after: true)
        body.append(UInt8(ascii: "}"))
        start(.makeSession, request("POST", "/sessions", body: body))
    }

    /// Tells the server the settings of this start of the app, once for a session of an earlier one.
    private mutating func putSettings() {
        session.isRestored = false
        let members = settingsMembers(after: false)
        guard !members.isEmpty else { return }
        let body = Array("{".utf8) + members + Array("}".utf8)
        start(.putSettings, request("PUT", "/sessions/current", body: body))
    }

    private func settingsMembers(after isLater: Bool) -> [UInt8] {
        var members: [UInt8] = []
        for (name, value) in [("locale", settings.locale), ("timeZone", settings.timeZone)] {
            guard let value else { continue }
            if isLater || !members.isEmpty { members.append(UInt8(ascii: ",")) }
            members += Array("\"\(name)\":".utf8)
            WireJSON.appendString(value, to: &members)
        }
        return members
    }

    mutating func sessionMade(_ result: Result<HTTPAnswer, TransportFailure>) {
        guard case .making = session.phase else { return }
        guard case .success(let answer) = result else { return waitForSession(nil) }
        switch answer.status {
        case 200, 201:
            guard let token = newCredential(in: answer) else { return waitForSession(nil) }
            session.phase = .ready
            session.attempts = 0
            session.madeInARow += 1
            if session.isMadeWithIdentity { session.renewal = nil }
            replaceToken(token)
            let made = try? WireJSON.decode(Described.self, from: answer.body)
            session.id = made?.id
            session.wasTaken = true
            session.user = made?.subject ?? (session.isMadeWithIdentity ? .unknown : .anonymous)
            if let lost = session.lostUser { replaceLostSession(of: lost) }
        case 401 where settings.hasIdentity && !session.isMadeWithIdentity:
            session.isSignedIn = true
            session.phase = .none
        case 401: signOut(ServerProblem(answer))
        case let status where [400, 403, 404, 413, 415, 422].contains(status) && answer.hasProblem:
            let problem = ServerProblem(answer)
            session.phase = .failed(problem)
            failIntents(RemoteError(.refused, "The server refuses a session for this client.", problem: problem))
        default: waitForSession(answer.retryAfter)
        }
    }

    /// Replaces a lost session with a new one. Waiting intents are kept if the user is the same.
    private mutating func replaceLostSession(of user: SessionState.User) {
        session.lostUser = nil
        if user != .unknown, user == session.user {
            keepFormerIntents()
        } else {
            failFormerIntents(
                RemoteError(.sessionEnded, "The intent's session was lost, and the next may belong to another user."))
        }
    }

    /// Returns the token or the cookie of an answer.
    func newCredential(in answer: HTTPAnswer) -> String? {
        switch settings.credential {
        case .bearer: return try? WireJSON.decode(Described.self, from: answer.body).token
        case .cookie:
            guard let field = answer.fields["set-cookie"] else { return nil }
            let pair = String(field.prefix { $0 != ";" })
            return pair.contains("=") && !pair.hasSuffix("=") ? pair : nil
        }
    }

    mutating func replaceToken(_ token: String) {
        session.token = token
        session.generation += 1
        commands.append(.saveCredential(token))
    }

    private mutating func waitForSession(_ asked: Duration?) {
        session.phase = .waiting(until: now + retryTime(asked, attempts: session.attempts))
        session.attempts += 1
    }

    /// The delay before the next attempt of a request other than a stream.
    func retryTime(_ asked: Duration?, attempts: Int) -> Duration {
        if let asked, asked > .zero { return pace.asked(asked) }
        return pace.delay(base: settings.retryBase, attempts: attempts)
    }

    /// Forgets a session that the server does not know. The first new session is requested at once; if the server does
    /// not know that one either, the delays grow.
    mutating func forgetSession() {
        // Nothing was shown of a stored session that the server does not know.
        if session.wasTaken {
            session.lostUser = session.lostUser ?? session.user
            session.wasTaken = false
            markFormerIntents()
        }
        session.generation += 1
        session.token = nil
        session.renewal = nil
        session.user = .unknown
        session.phase = .none
        if session.madeInARow > 1 {
            session.attempts = session.madeInARow - 2
            waitForSession(nil)
        }
        forgetLog()
        stream.refused = [:]
        closeStream()
    }

    /// Notes that the server has accepted the session's credential.
    mutating func sessionWasTaken() {
        session.madeInARow = 0
        session.wasTaken = true
    }

    /// Leaves the session, since the credential belongs to another one. The next stream tells its id.
    mutating func leaveSession() {
        failIntentsOfOtherSession()
        forgetLog()
        closeStream()
    }

    mutating func failIntentsOfOtherSession() {
        session.user = .unknown
        failIntents(
            RemoteError(.sessionEnded, "The intent's session no longer belongs to this client."))
    }

    /// Ends the session for good. The app decides how to continue.
    mutating func endSession() {
        session.phase = .ended
        session.token = nil
        session.renewal = nil
        forgetPresences()
        commands.append(.saveCredential(nil))
        closeStream()
        failIntents(RemoteError(.sessionEnded, "The session was ended before the intent was answered."))
    }

    /// Ends the session at the app's request. The next one is created when it is needed. Waiting intents belong to the
    /// old session and fail.
    mutating func renewSession() {
        failIntents(RemoteError(.sessionEnded, "The app ended the session before the intent was answered."))
        for id in exchanges.keys { commands.append(.cut(id)) }
        exchanges = [:]
        closeStream()
        let farewell = session.token == nil || !isOnline ? nil : request("DELETE", "/sessions/current")
        commands.append(.saveCredential(nil))
        session = SessionState(
            phase: farewell == nil ? .none : .ending, isRead: true, generation: session.generation + 1,
            isAskingIdentity: session.isAskingIdentity)
        forgetLog()
        stream.phase = .closed
        stream.refused = [:]
        if let farewell { start(.endSession, farewell) }
    }

    mutating func sessionDeleted(_ result: Result<HTTPAnswer, TransportFailure>) {
        guard case .ending = session.phase else { return }
        session.phase = .none
        if case .success(let answer) = result, [200, 204, 401, 404].contains(answer.status) { return }
        commands.append(.report("The session could not be deleted on the server; it ends when it expires."))
    }
}
