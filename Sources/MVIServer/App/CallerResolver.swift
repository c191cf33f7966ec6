import Locking
import MVI
import MicroHTTP
import Networks
import Sessions

/// The caller of a request.
struct Caller: Sendable {
    let session: Session
    /// As the client sent it.
    let token: SessionToken
    /// True if the browser sent the credential by itself.
    let isByCookie: Bool
    /// Set-Cookie anew, when half of its life has passed.
    let refresh: ResponseField?
    /// The credential; nil if nobody has signed in.
    var credential: Credential?
    /// The principal, as of the request's arrival.
    var principal: Principal?
    /// The client by which the session judges the request whenever it acts.
    var client: SessionClient { SessionClient(credential) }
    /// The same for a request that waits, which takes a place of its network.
    func client(at address: PeerAddress) -> SessionClient { SessionClient(credential, address: address) }
    /// The damage because of which the session can only be ended.
    var damage: StoreError?
}

/// A request's session, or the way to it.
enum CallerLookup: Sendable {
    case known(Caller)
    /// The session is not in memory; what it is kept in is being asked.
    case pending(PendingCaller)
}

/// A request whose session is being looked up.
struct PendingCaller: Sendable {
    let token: SessionToken
    let isByCookie: Bool
    let lookup: Later<SessionLookup>
}

/// Finds the session that a request's credential names. A bearer token beats the cookie, and one that fails never
/// falls back to it: what a client says counts, not what its browser adds.
struct CallerResolver: Sendable {
    private static let scheme = Array("bearer".utf8)

    let sessions: SessionTable
    let cookies: CookiePolicy
    let quotas: AddressQuotas

    func caller(_ head: RequestHead) throws(Problem) -> CallerLookup {
        let fields = head.fields
        switch try bearer(fields) {
        case let token?: return try find(token, isByCookie: false, head)
        case nil: break
        }
        guard let text = cookies.value(fields) else {
            throw Problem(
                .unauthorized,
                "The request carries neither `Authorization: Bearer <token>` nor the session's cookie: make a session with "
                    + "`POST /sessions`.")
        }
        guard let token = SessionToken(text) else {
            throw Problem(.unauthorized, "The session's cookie is not one that this server gives.")
        }
        return try find(token, isByCookie: true, head)
    }

    /// The token of the session that a request names, if it names one well; for refusals that concern the session.
    func token(_ fields: HeaderFields) -> (token: SessionToken, isByCookie: Bool)? {
        if let token = try? bearer(fields) { return (token, false) }
        return cookies.value(fields).flatMap { SessionToken($0) }.map { ($0, true) }
    }

    /// The token of the cookie, if there is one: `POST /sessions` gives its session back.
    func tokenOfCookie(_ fields: HeaderFields) -> SessionToken? {
        cookies.value(fields).flatMap { SessionToken($0) }
    }

    private func find(
        _ token: SessionToken, isByCookie: Bool, _ head: RequestHead
    ) throws(Problem) -> CallerLookup {
        if let found = sessions.lookup(token) { return .known(try caller(found, token, isByCookie: isByCookie)) }
        let lookup = Later<SessionLookup>()
        try find(token, head) { lookup.resolve($0) }
        if let found = lookup.value { return .known(try caller(found, token, isByCookie: isByCookie)) }
        return .pending(PendingCaller(token: token, isByCookie: isByCookie, lookup: lookup))
    }

    /// Hands over what a request's token names, now or later. What is not in memory costs a read of the journal: throws if the
    /// client's address has sent tokens of no session too often for that.
    func find(
        _ token: SessionToken, _ head: RequestHead, completion: @escaping @Sendable (SessionLookup) -> Void
    ) throws(Problem) {
        let now = sessions.environment.time.monotonic()
        if let rate = quotas.sessionRate, let wait = quotas.mayAskForToken(head, now: now) {
            if let found = sessions.lookup(token) { return completion(found) }
            throw Problem(
                "tokens", rate, wait, "Your address sends tokens of no session faster than \(rate.perSecond) a second.")
        }
        sessions.find(token) { [quotas] found in
            found.session?.noteOrigin(quotas.addresses.of(head))
            if case .unknown = found { quotas.noteUnknownToken(head, now: now) }
            completion(found)
        }
    }

    /// Returns the caller for the result of a lookup.
    func caller(_ found: SessionLookup, _ token: SessionToken, isByCookie: Bool) throws(Problem) -> Caller {
        switch found {
        case .live(let session, let credential):
            let refresh =
                isByCookie && credential?.isRevoked != true && session.cookieIsDue(credential)
                ? cookies.set(token.text) : nil
            return Caller(
                session: session, token: token, isByCookie: isByCookie, refresh: refresh, credential: credential,
                principal: credential?.principal)
        case .damaged(let session, let error):
            return Caller(session: session, token: token, isByCookie: isByCookie, refresh: nil, damage: error)
        case .ended:
            throw ended(isByCookie)
        case .unknown:
            throw gone(.sessionNotFound, "The credential names no session that this server has.", isByCookie)
        case .failed(let refusal): throw Problem(refusal)
        }
    }

    /// Returns the problem for a credential that was replaced or revoked, or whose session has ended.
    func ended(_ isByCookie: Bool) -> Problem {
        gone(.sessionEnded, "The session of this credential has ended.", isByCookie)
    }

    private func gone(_ type: ProblemType, _ detail: String, _ isByCookie: Bool) -> Problem {
        var problem = Problem(type, detail)
        if isByCookie { problem.fields.append(cookies.clear) }
        return problem
    }

    /// The token of `Authorization`, nil if there is none. Another scheme is another party's, such as a proxy's in
    /// front; it is passed over.
    private func bearer(_ fields: HeaderFields) throws(Problem) -> SessionToken? {
        guard let value = fields.bytes(of: "authorization") else { return nil }
        let schemeEnd = value.firstIndex(of: 0x20) ?? value.endIndex
        guard value[..<schemeEnd].isCaselessly(Self.scheme) else { return nil }
        guard let token = SessionToken(value[schemeEnd...].drop { $0 == 0x20 }) else {
            throw Problem(.unauthorized, "The bearer token is not one that this server gives.")
        }
        return token
    }
}

/// A value that is there, or will be.
final class Later<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiters: [@Sendable (Value) -> Void] = []
    }

    private let state = Lock(State())

    /// The value if it is there.
    var value: Value? { state.withLock { $0.value } }

    /// Called once, when the value is there.
    func resolve(_ value: Value) {
        let waiters = state.withLock { state in
            state.value = value
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter(value) }
    }

    /// Calls `action` with the value: now, or on the thread that brings it.
    func whenReady(_ action: @escaping @Sendable (Value) -> Void) {
        let value = state.withLock { state -> Value? in
            if state.value == nil { state.waiters.append(action) }
            return state.value
        }
        if let value { action(value) }
    }
}
