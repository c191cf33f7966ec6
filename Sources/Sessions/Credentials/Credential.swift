import Locking
import MVI
import SessionJournal
import WireJSON

/// One client's way to a session in which somebody is signed in. An anonymous session has none: its own token is good
/// for it.
package final class Credential: Sendable {
    /// Tells it from the session's other credentials, also from those that are gone; 0 is that of anonymous clients.
    package let number: Int
    /// How the client sends its token.
    package let kind: SessionCredential
    let hash: TokenHash
    /// The hash of the token that the session began with, by which it is found.
    let root: TokenHash
    private let made: Duration
    /// Whether other devices share the session.
    let isOneOfMany: Bool
    /// The number of the session's last turn when it was made; 0 if that was in another life of the process.
    let joined: UInt64
    private let state: Lock<State>

    private struct State {
        var principal: Principal?
        var revocation: StoredCredential.Revocation?
        var isRevoked = false
        /// When it was proven: time since 1970.
        var since: Duration
        var intents = TokenBucket()
        /// On the monotonic clock.
        var cookieSet: Duration
        /// Ends streams when the principal's time is over.
        var watch: Task<Void, Never>?
    }

    /// - Parameter cookieSet: when its cookie was last set, on the monotonic clock.
    init(
        _ stored: StoredCredential, root: TokenHash, isShared: Bool, joined: UInt64 = 0, cookieSet: Duration
    ) {
        (isOneOfMany, self.joined) = (isShared, joined)
        (hash, kind, number, made, self.root) = (stored.token, stored.kind, stored.number, stored.made, root)
        state = Lock(
            State(
                principal: try? WireJSON.decode(Principal.self, from: stored.principal),
                revocation: stored.revocation, isRevoked: stored.revocation != nil, since: stored.made,
                cookieSet: cookieSet))
    }

    /// Who is signed in with it now; nil for a token that was good before somebody signed in.
    package var principal: Principal? { state.withLock { $0.principal } }

    /// Whether another credential has taken its place, or it was signed out.
    package var isRevoked: Bool { state.withLock { $0.isRevoked } }

    /// Whether the request that replaced it may be repeated with that proof.
    func mayRepeat(_ proof: [UInt8], now: Duration) -> Bool {
        guard let revocation = state.withLock({ $0.revocation }) else { return false }
        return revocation.until > now && revocation.proof == proof
    }

    /// Whether a request that was made with it may still be answered by the one that replaced it.
    package func mayBeRepeated(now: Duration) -> Bool { (state.withLock { $0.revocation }?.until ?? .zero) > now }

    /// What a principal is kept as.
    static func encode(_ principal: Principal) throws(StoreError) -> [UInt8] {
        do throws(WireEncodingError) { return try WireJSON.encode(principal) } catch {
            throw StoreError(.refused, "The identity's claims cannot be kept: \(error.detail)")
        }
    }

    func renewed(_ principal: [UInt8]) -> StoredCredential {
        StoredCredential(token: hash, kind: kind, number: number, principal: principal, made: made)
    }

    func renew(_ principal: Principal, now: Duration) {
        let watch = state.withLock { state in
            state.principal = principal
            state.since = now
            return state.watch.take()
        }
        watch?.cancel()
    }

    /// Takes the principal that another process renewed; whether it is another one.
    func adopt(_ stored: StoredCredential, now: Duration) -> Bool {
        guard stored.revocation == nil, !isRevoked,
            let newer = try? WireJSON.decode(Principal.self, from: stored.principal), newer != principal
        else { return false }
        renew(newer, now: now)
        return true
    }

    func revoke(_ revocation: StoredCredential.Revocation? = nil) {
        let watch = state.withLock { state in
            (state.isRevoked, state.revocation) = (true, revocation)
            return state.watch.take()
        }
        watch?.cancel()
    }

    /// How long before the principal's expiry its streams are told: half a minute, or a tenth of its life.
    var noticeTime: Duration {
        let life = (principal?.expiry?.sinceEpoch ?? .zero) - state.withLock { $0.since }
        return min(.seconds(30), max(.zero, life / 10))
    }

    /// Counts an intent; nil if it may be sent now, else in how much time.
    func takeIntent(_ rate: Rate, now: Duration) -> Duration? { state.withLock { $0.intents.take(rate, now: now) } }

    /// Whether half of the cookie's life has passed since it was last set; if so it counts as set now.
    func cookieIsDue(now: Duration, life: Duration) -> Bool {
        state.withLock { state in
            guard now - state.cookieSet >= life / 2 else { return false }
            state.cookieSet = now
            return true
        }
    }

    /// Keeps the task that watches the principal's expiry; false if there is one already.
    func attach(_ watch: Task<Void, Never>) -> Bool {
        state.withLock { state in
            guard state.watch == nil else { return false }
            state.watch = watch
            return true
        }
    }

    /// The task has nothing to watch any more.
    func detachWatch() { state.withLock { $0.watch = nil } }
}
