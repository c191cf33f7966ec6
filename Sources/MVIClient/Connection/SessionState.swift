/// The state of the client's session.
struct SessionState: Sendable {
    enum Phase: Sendable {
        /// The storage has not been asked.
        case unread
        /// The storage is asked.
        case loading
        case none
        /// The identity callback is asked, before a session is made.
        case asking
        case making
        /// The next try to read the storage or to make a session comes at this time.
        case waiting(until: Duration)
        case ready
        /// The server is told that the session is over.
        case ending
        case signedOut
        case ended
        case failed(ServerProblem)
    }

    /// The user of a session.
    enum User: Sendable, Equatable {
        /// The server has not said it.
        case unknown
        case anonymous
        case subject(String, issuer: String)
    }

    /// An identity that is to be shown to the server.
    struct Renewal: Sendable {
        enum Step: Sendable, Equatable {
            case wanted, asking, putting
            case waiting(until: Duration)
        }
        var step = Step.wanted
        /// True if the server does nothing for this client before it.
        var isNeeded: Bool
        /// True if the stores stay when an anonymous session is signed in.
        var keepsStores = true
        var identity: String?
        var attempts = 0
    }

    var phase = Phase.unread
    /// True if the storage was read.
    var isRead = false
    /// The token, or the cookie's name and value.
    var token: String?
    /// Grows with each other token.
    var generation = 0
    /// Failed tries in a row to read the storage or make a session.
    var attempts = 0
    /// Sessions made since the server last took one.
    var madeInARow = 0
    var renewal: Renewal?
    /// True if a user is signed in: another session is then made with an identity, never an anonymous one.
    var isSignedIn = false
    /// True if the session that is being made has an identity.
    var isMadeWithIdentity = false
    /// True if the identity callback has not answered yet.
    var isAskingIdentity = false

    /// As the server said last; nil where it has not.
    var id: String?
    var user = User.unknown
    /// True if the server has taken the credential.
    var wasTaken = false
    /// The user of the session that the server did not know any more, until there is another session.
    var lostUser: User?
    /// Of the last `hello`.
    var epoch: String?

    /// True if requests can be sent with its credential.
    var isUsable: Bool {
        guard case .ready = phase else { return false }
        guard let renewal else { return true }
        // What is sent now would be disposed of.
        return !renewal.isNeeded && renewal.step != .putting && renewal.keepsStores
    }

    /// True if it takes another step without the app's help.
    var isOver: Bool {
        switch phase {
        case .ended, .signedOut, .failed: true
        default: false
        }
    }

    var deadline: Duration? {
        if case .waiting(let until) = phase { return until }
        if case .waiting(let until) = renewal?.step { return until }
        return nil
    }

    mutating func retryNow(at now: Duration) {
        if case .waiting = phase { phase = .waiting(until: now) }
        if case .waiting = renewal?.step { renewal?.step = .waiting(until: now) }
    }
}
