import LibCrypto
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

    fileprivate struct State {
        /// Nil where what is kept of it cannot be read.
        var history: PrincipalHistory?
        /// Those that are being kept, in the order in which they came, and the last one that could not be kept.
        var renewals: [Renewal] = []
        var lastRenewal = 0
        var isRenewing = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var revokedUntil: Duration?
        var isRevoked = false
        /// When it was proven: time since 1970.
        var since: Duration
        var intents = TokenBucket()
        /// On the monotonic clock.
        var cookieSet: Duration
        /// Ends streams when the principal's time is over; without a task while that is being made.
        var watch: (number: Int, task: Task<Void, Never>?)?
        var lastWatch = 0
    }

    /// A principal that is to take the present one's place when that is kept: until then the client may do only what both
    /// may.
    struct Renewal {
        fileprivate let number: Int
        fileprivate let principal: Principal
        /// The session's last turn before it kept the client out.
        fileprivate let since: UInt64
        fileprivate var isFailed = false
    }

    /// - Parameter cookieSet: when its cookie was last set, on the monotonic clock.
    init(
        _ stored: StoredCredential, root: TokenHash, isShared: Bool, joined: UInt64 = 0, cookieSet: Duration
    ) {
        (isOneOfMany, self.joined) = (isShared, joined)
        (hash, kind, number, made, self.root) = (stored.token, stored.kind, stored.number, stored.made, root)
        state = Lock(
            State(
                history: Self.decode(stored), revokedUntil: stored.revokedUntil,
                isRevoked: stored.revokedUntil != nil, since: stored.made, cookieSet: cookieSet))
    }

    /// Who is signed in with it now; nil for a token that was good before a client signed in, and where the kept principal
    /// cannot be read: such a client has to renew it.
    package var principal: Principal? { state.withLock { $0.history?.present } }

    /// The principals that must all be allowed to do what the client does: its own, and those that are to take its place.
    /// Empty where its own cannot be read.
    var principals: [Principal] { standing.principals }

    /// The same, and those by which labels of earlier turns are judged.
    var standing: (principals: [Principal], former: [FormerPrincipals]) {
        state.withLock { ($0.principals, $0.history?.former ?? []) }
    }

    /// Whether its principal's time is over.
    func hasExpired(at now: Duration) -> Bool {
        state.withLock { $0.history?.present.hasExpired(at: Timestamp(sinceEpoch: now)) ?? false }
    }

    /// Whether another credential has taken its place, or it was signed out.
    package var isRevoked: Bool { state.withLock { $0.isRevoked } }

    /// Whether it was signed out here, which may not be kept yet: its client may repeat that.
    var isClosed: Bool { state.withLock { $0.isRevoked && $0.revokedUntil == nil } }

    /// Whether a request that was made with it may still be answered by the one that replaced it.
    package func mayBeRepeated(now: Duration) -> Bool { (state.withLock { $0.revokedUntil } ?? .zero) > now }

    private static func decode(_ stored: StoredCredential) -> PrincipalHistory? {
        guard var history = try? WireJSON.decode(PrincipalHistory.self, from: stored.principal) else { return nil }
        history.present = history.present.of(credential: stored.number)
        return history
    }

    /// What a principal is kept as.
    static func encode(_ history: PrincipalHistory) throws(StoreError) -> [UInt8] {
        do throws(WireEncodingError) { return try WireJSON.encode(history) } catch {
            throw StoreError(.refused, "The identity's claims cannot be kept: \(error.detail)")
        }
    }

    /// What is to be kept of a renewal.
    func renewed(_ history: PrincipalHistory) throws(StoreError) -> StoredCredential {
        StoredCredential(token: hash, kind: kind, number: number, principal: try Self.encode(history), made: made)
    }

    // MARK: Renewing

    /// Allows from now on only what another principal may do as well.
    ///
    /// - Parameter turn: the number of the session's last turn.
    func restrict(to principal: Principal, since turn: UInt64) -> Renewal {
        state.withLock { state in
            state.lastRenewal += 1
            let principal = principal.of(credential: number)
            state.renewals.append(Renewal(number: state.lastRenewal, principal: principal, since: turn))
            return state.renewals[state.renewals.count - 1]
        }
    }

    /// Returns when no other renewal is being kept: they take effect in the order in which they are kept.
    func beginRenewing() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.isRenewing { state.waiting.append(continuation) }
                defer { state.isRenewing = true }
                return !state.isRenewing
            }
            if isFree { continuation.resume() }
        }
    }

    /// Lets the next renewal be kept. One that did not take effect restricts the client until another one does, or fails.
    func endRenewing(_ renewal: Renewal) {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if let index = state.renewals.firstIndex(where: { $0.number == renewal.number }) {
                state.renewals[index].isFailed = true
                state.renewals.removeAll { $0.isFailed && $0.number != renewal.number }
            }
            if state.waiting.isEmpty { state.isRenewing = false }
            return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        }
        next?.resume()
    }

    /// The history if a renewal took effect after a turn.
    func history(renewedBy renewal: Renewal, at turn: UInt64, _ outbox: Outbox) -> PrincipalHistory {
        state.withLock { $0.history(renewedBy: renewal, at: turn, outbox) }
    }

    /// Lets a renewal that is kept take effect; returns the history then.
    func renew(by renewal: Renewal, at turn: UInt64, _ outbox: Outbox, now: Duration) -> PrincipalHistory {
        state.withLock { state in
            let history = state.history(renewedBy: renewal, at: turn, outbox)
            state.renewals.removeAll { $0.isFailed || $0.number == renewal.number }
            (state.history, state.since) = (history, now)
            return history
        }
    }

    /// Takes the principals that another process kept; whether the present one is another than before.
    func adopt(_ stored: StoredCredential, now: Duration) -> Bool {
        guard stored.revokedUntil == nil, let newer = Self.decode(stored) else { return false }
        return state.withLock { state in
            guard !state.isRevoked, newer != state.history else { return false }
            let isOther = newer.present != state.history?.present
            state.history = newer
            if isOther { state.since = now }
            return isOther
        }
    }

    /// - Parameter until: until when the request that replaced it may be repeated.
    func revoke(until: Duration? = nil) {
        let watch = state.withLock { state in
            (state.isRevoked, state.revokedUntil) = (true, until)
            return state.watch.take()
        }
        watch?.task?.cancel()
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

    // MARK: Watching the principal's time

    /// The number of a new watch, for which the caller makes a task; nil if there is one.
    func beginWatch() -> Int? {
        state.withLock { state in
            guard state.watch == nil, !state.isRevoked else { return nil }
            state.lastWatch += 1
            state.watch = (state.lastWatch, nil)
            return state.lastWatch
        }
    }

    /// Keeps a watch's task, to be cancelled with it.
    func attach(_ task: Task<Void, Never>, to watch: Int) {
        let isPresent = state.withLock { state in
            guard state.watch?.number == watch else { return false }
            state.watch?.task = task
            return true
        }
        if !isPresent { task.cancel() }
    }

    /// Ends a watch; nil means whichever there is.
    func endWatch(_ watch: Int? = nil) {
        let ended = state.withLock { state -> Task<Void, Never>? in
            guard watch == nil || state.watch?.number == watch else { return nil }
            return state.watch.take()?.task
        }
        ended?.cancel()
    }
}

extension Credential.State {
    fileprivate var principals: [Principal] { history.map { [$0.present] + renewals.map(\.principal) } ?? [] }

    fileprivate func history(
        renewedBy renewal: Credential.Renewal, at turn: UInt64, _ outbox: Outbox
    ) -> PrincipalHistory {
        var history = history ?? PrincipalHistory(renewal.principal)
        // Without a readable principal the client was allowed nothing.
        let before = self.history.map { [$0.present] } ?? []
        history.add(before, through: renewals.map(\.since).min() ?? turn)
        history.add(principals, through: turn)
        history.present = renewal.principal
        history.trim(to: outbox)
        return history
    }
}

/// What a proof of an identity is known by, without being kept: its SHA-256.
package enum ProofHash {
    /// 32 bytes.
    package static func of(_ proof: String) -> [UInt8] { SHA256.digest(Array(proof.utf8)) }
}
