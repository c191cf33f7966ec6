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
        /// The one that takes its place when that is kept: until then the client may do only what both may.
        var next: Principal?
        var revokedUntil: Duration?
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
                principal: Self.decode(stored), revokedUntil: stored.revokedUntil,
                isRevoked: stored.revokedUntil != nil, since: stored.made, cookieSet: cookieSet))
    }

    /// Who is signed in with it now; nil for a token that was good before a client signed in, and where the kept principal
    /// cannot be read: such a client has to renew it.
    package var principal: Principal? { state.withLock { $0.principal } }

    /// The principals that must all be allowed to do what the client does: its own, and that which takes its place. Empty
    /// where its own cannot be read.
    var principals: [Principal] {
        state.withLock { state in state.principal.map { [$0] + [state.next].compactMap(\.self) } ?? [] }
    }

    /// Whether its principal's time is over.
    func hasExpired(at now: Duration) -> Bool {
        state.withLock { $0.principal?.hasExpired(at: Timestamp(sinceEpoch: now)) ?? false }
    }

    /// Whether another credential has taken its place, or it was signed out.
    package var isRevoked: Bool { state.withLock { $0.isRevoked } }

    /// Whether it was signed out here, which may not be kept yet: its client may repeat that.
    var isClosed: Bool { state.withLock { $0.isRevoked && $0.revokedUntil == nil } }

    /// Whether a request that was made with it may still be answered by the one that replaced it.
    package func mayBeRepeated(now: Duration) -> Bool { (state.withLock { $0.revokedUntil } ?? .zero) > now }

    private static func decode(_ stored: StoredCredential) -> Principal? {
        (try? WireJSON.decode(Principal.self, from: stored.principal))?.of(credential: stored.number)
    }

    /// What a principal is kept as.
    static func encode(_ principal: Principal) throws(StoreError) -> [UInt8] {
        do throws(WireEncodingError) { return try WireJSON.encode(principal) } catch {
            throw StoreError(.refused, "The identity's claims cannot be kept: \(error.detail)")
        }
    }

    func renewed(_ principal: [UInt8]) -> StoredCredential {
        StoredCredential(token: hash, kind: kind, number: number, principal: principal, made: made)
    }

    /// Allows from now on only what another principal may do as well.
    func restrict(to principal: Principal) { state.withLock { $0.next = principal.of(credential: number) } }

    func renew(_ principal: Principal, now: Duration) {
        let watch = state.withLock { state in
            state.principal = principal.of(credential: number)
            state.next = nil
            state.since = now
            return state.watch.take()
        }
        watch?.cancel()
    }

    /// Takes the principal that another process renewed; whether it is another one.
    func adopt(_ stored: StoredCredential, now: Duration) -> Bool {
        guard stored.revokedUntil == nil, !isRevoked, let newer = Self.decode(stored), newer != principal else {
            return false
        }
        renew(newer, now: now)
        return true
    }

    /// - Parameter until: until when the request that replaced it may be repeated.
    func revoke(until: Duration? = nil) {
        let watch = state.withLock { state in
            (state.isRevoked, state.revokedUntil) = (true, until)
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
