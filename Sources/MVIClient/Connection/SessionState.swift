/// The state of the client's session.
struct SessionState: Sendable {
    enum Phase: Sendable {
        /// The storage has not been read.
        case unread
        /// The storage is being read.
        case loading
        case none
        /// The identity callback was called, before a session is created.
        case asking
        case making
        /// The next attempt to read the storage or to create a session comes at this time.
        case waiting(until: Duration)
        case ready
        /// The session is being deleted on the server.
        case ending
        case signedOut
        case ended
        case failed(ServerProblem)
    }

    /// The user of a session.
    enum User: Sendable, Equatable {
        /// The server has not told the user.
        case unknown
        case anonymous
        case subject(String, issuer: String)
    }

    /// An identity that will be presented to the server.
    struct Renewal: Sendable {
        enum Step: Sendable, Equatable {
            case wanted, asking, putting
            case waiting(until: Duration)
        }
        var step = Step.wanted
        /// True if the server refuses other requests before it.
        var isNeeded: Bool
        /// True to keep the stores when an anonymous session is signed in.
        var keepsStores = true
        var identity: String?
        var attempts = 0
    }

    var phase = Phase.unread
    /// True if the storage was read.
    var isRead = false
    /// True if it is of an earlier start of the app, and the server was not told the settings of this one.
    var isRestored = false
    /// The token, or the cookie's name and value.
    var token: String?
    /// A number that grows with each new token.
    var generation = 0
    /// The number of consecutive failed attempts to read the storage or create a session.
    var attempts = 0
    /// The number of sessions created since the server last accepted one.
    var madeInARow = 0
    var renewal: Renewal?
    /// True if a user is signed in. Further sessions are then created with an identity, never anonymously.
    var isSignedIn = false
    /// True if the session that is being created has an identity.
    var isMadeWithIdentity = false
    /// True if the identity callback has not answered yet.
    var isAskingIdentity = false

    /// The id that the server sent last; nil if it has not.
    var id: String?
    var user = User.unknown
    /// True if the server has accepted the credential.
    var wasTaken = false
    /// The user of the lost session, until there is a new session.
    var lostUser: User?
    /// The epoch of the last `hello`.
    var epoch: String?

    /// True if requests can be sent with its credential.
    var isUsable: Bool {
        guard case .ready = phase else { return false }
        guard let renewal else { return true }
        // Intents that are sent now would be lost with the stores.
        return !renewal.isNeeded && renewal.step != .putting && renewal.keepsStores
    }

    /// True if the session needs the app's help to continue.
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
