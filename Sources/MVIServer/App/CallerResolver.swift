import Locking
import MVI
import MicroHTTP
import Networks
import Sessions

/// The caller of a request.
struct Caller: Sendable {
    let session: Session
    /// The space in which the request acts; nil if it acts in its session.
    var space: Session?
    /// The session in which it acts.
    var target: Session { space ?? session }
    /// The token as the client sent it.
    let token: SessionToken
    /// True if the browser sent the credential by itself.
    let isByCookie: Bool
    /// New Set-Cookie fields, after half of the cookie's lifetime or for a cookie with an old name.
    let refresh: [ResponseField]
    /// The credential; nil before sign-in.
    var credential: Credential?
    /// The principal at the time of the request.
    var principal: Principal?
    /// The client for the session, which checks its access at each action.
    var client: SessionClient {
        space == nil ? SessionClient(credential) : SessionClient(credential, address: address, caller: session)
    }
    /// Its address if it acts in a space, whose places are shared.
    var address: PeerAddress?
    /// The client of a waiting request, which counts against its network's places until the client leaves.
    func client(waitingFor head: RequestHead, at address: PeerAddress) -> SessionClient {
        let caller = space == nil ? nil : session
        guard let connection = head.connection else {
            return SessionClient(credential, address: address, caller: caller)
        }
        return SessionClient(credential, address: address, onLeave: { connection.onLeave($0) }, caller: caller)
    }
    /// The damage for which the session can only be ended.
    var damage: StoreError?
}

/// A request's session, or its pending lookup.
enum CallerLookup: Sendable {
    case known(Caller)
    /// The session is not in memory; the journal is being read.
    case pending(PendingCaller)
}

/// A request with a pending lookup of its session.
struct PendingCaller: Sendable {
    let token: SessionToken
    let isByCookie: Bool
    let lookup: Promise<SessionLookup>
}

/// Finds the session of a request's credential. A bearer token takes precedence over the cookie, also if it is invalid,
/// because the client sent it on purpose.
struct CallerResolver: Sendable {
    private static let scheme = Array("bearer".utf8)

    let sessions: SessionTable
    let cookies: CookiePolicy
    let quotas: AddressQuotas

    func caller(_ head: RequestHead) throws(Problem) -> CallerLookup {
        let fields = head.fields
        if let token = try bearer(fields, head.connection) { return try find(token, isByCookie: false, head) }
        guard let text = cookies.value(fields) else {
            throw Problem(
                .unauthorized,
                "The request has neither `Authorization: Bearer <token>` nor the session's cookie: make a session with "
                    + "`POST /sessions`.")
        }
        guard let token = token(ArraySlice(text.utf8), head.connection) else {
            throw Problem(.unauthorized, "The session's cookie is malformed.")
        }
        return try find(token, isByCookie: true, head)
    }

    /// The token of a request's session if it is well formed, for refusals about the session.
    func token(_ fields: HeaderFields) -> (token: SessionToken, isByCookie: Bool)? {
        if let token = try? bearer(fields, nil) { return (token, false) }
        return cookies.value(fields).flatMap { SessionToken($0) }.map { ($0, true) }
    }

    /// The token of the cookie; nil without one. `POST /sessions` returns its session.
    func tokenOfCookie(_ fields: HeaderFields) -> SessionToken? {
        cookies.value(fields).flatMap { SessionToken($0) }
    }

    private func find(
        _ token: SessionToken, isByCookie: Bool, _ head: RequestHead
    ) throws(Problem) -> CallerLookup {
        let fields = isByCookie ? head.fields : nil
        if let found = sessions.lookup(token) { return .known(try caller(found, token, ofCookie: fields)) }
        let lookup = Promise<SessionLookup>()
        try find(token, head) { lookup.resolve($0) }
        if let found = lookup.value { return .known(try caller(found, token, ofCookie: fields)) }
        return .pending(PendingCaller(token: token, isByCookie: isByCookie, lookup: lookup))
    }

    /// Finds the session of a request's token, now or later. A session that is not in memory takes a read of the
    /// journal. Throws if the client's address has sent unknown tokens too fast.
    func find(
        _ token: SessionToken, _ head: RequestHead, completion: @escaping @Sendable (SessionLookup) -> Void
    ) throws(Problem) {
        let now = sessions.environment.time.monotonic()
        if let rate = quotas.sessionRate, let wait = quotas.mayAskForToken(head, now: now) {
            if let found = sessions.lookup(token) { return completion(found) }
            throw Problem(
                "tokens", rate, wait, "Your address sends more than \(rate.perSecond) unknown tokens per second.")
        }
        sessions.find(token) { [quotas] found in
            found.session?.noteOrigin(quotas.addresses.of(head))
            if case .unknown = found { quotas.noteUnknownToken(head, now: now) }
            completion(found)
        }
    }

    /// Returns the caller for a lookup's result.
    ///
    /// - Parameter request: the fields of a request whose token is its cookie's; nil for a bearer token.
    func caller(
        _ found: SessionLookup, _ token: SessionToken, ofCookie request: HeaderFields?
    ) throws(Problem) -> Caller {
        switch found {
        case .live(let session, let credential):
            var refresh: [ResponseField] = []
            if let request, credential?.isRevoked != true,
                cookies.isOld(request) || session.cookieIsDue(credential)
            {
                refresh = cookies.set(token.text, isSignedIn: credential != nil, for: request)
            }
            return Caller(
                session: session, token: token, isByCookie: request != nil, refresh: refresh, credential: credential,
                principal: credential?.principal)
        case .damaged(let session, let error):
            return Caller(session: session, token: token, isByCookie: request != nil, refresh: [], damage: error)
        case .ended:
            throw ended()
        case .unknown:
            throw Problem(.sessionNotFound, "The credential names no session of this server.")
        case .failed(let refusal): throw Problem(refusal)
        }
    }

    /// The problem for a credential that was replaced or signed out, or whose session has ended.
    ///
    /// The cookie stays: a sign-in may have replaced it after the refused request was sent.
    func ended() -> Problem { Problem(.sessionEnded, "The session of this credential has ended.") }

    /// The token of `Authorization`; nil if there is none. Other schemes belong to other parties, such as a proxy, and
    /// are ignored.
    private func bearer(
        _ fields: HeaderFields, _ connection: (any RequestConnection)?
    ) throws(Problem) -> SessionToken? {
        guard let value = fields.bytes(of: "authorization") else { return nil }
        let schemeEnd = value.firstIndex(of: 0x20) ?? value.endIndex
        guard value[..<schemeEnd].isCaselessly(Self.scheme) else { return nil }
        guard let token = token(value[schemeEnd...].drop { $0 == 0x20 }, connection) else {
            throw Problem(.unauthorized, "The bearer token is malformed.")
        }
        return token
    }

    /// The token of a text; nil if it is none. Most often it is that of the connection's last request, whose hash is known.
    private func token(_ text: ArraySlice<UInt8>, _ connection: (any RequestConnection)?) -> SessionToken? {
        if let last = connection?.keepsake as? LastToken, last.token.isWritten(text) { return last.token }
        guard let token = SessionToken(text) else { return nil }
        connection?.keepsake = LastToken(token.kept)
        return token
    }
}

/// The token of a connection's last request.
private final class LastToken: Sendable {
    let token: SessionToken

    init(_ token: SessionToken) { self.token = token }
}

/// A value that is available now or later.
final class Promise<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiters: [@Sendable (Value) -> Void] = []
    }

    private let state = Lock(State())

    /// The value; nil if it is not available yet.
    var value: Value? { state.withLock { $0.value } }

    /// Sets the value. Called once.
    func resolve(_ value: Value) {
        let waiters = state.withLock { state in
            state.value = value
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter(value) }
    }

    /// Calls `action` with the value: now, or on the thread that sets it.
    func whenReady(_ action: @escaping @Sendable (Value) -> Void) {
        let value = state.withLock { state -> Value? in
            if state.value == nil { state.waiters.append(action) }
            return state.value
        }
        if let value { action(value) }
    }
}

extension Caller {
    /// The same caller as it acts in a space that was looked up for an instance.
    func acting(in found: SessionLookup, _ feature: FeatureID, at address: PeerAddress) throws(Problem) -> Caller {
        switch found {
        case .live(let space, _):
            var caller = self
            (caller.space, caller.address) = (space, address)
            return caller
        case .damaged(_, let error), .failed(let error): throw Problem(error, feature)
        case .ended, .unknown: throw Problem(.featureNotFound, "No instance \"\(feature)\" exists.")
        }
    }
}
