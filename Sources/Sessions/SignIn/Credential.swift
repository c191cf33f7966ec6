import LibCrypto
import Locking
import MVI
import SessionJournal
import WireJSON

/// A client's access to a session whose client is signed in. An anonymous session has none: its own token is valid.
package final class Credential: Sendable {
    /// The number that identifies it in the session, never reused. 0 is the number of anonymous clients.
    package let number: Int
    /// The form in which the client sends its token.
    package let kind: SessionCredential
    let hash: TokenHash
    /// The hash of the token that the session began with, by which the session is found.
    let root: TokenHash
    private let made: Duration
    /// True if other devices share the session.
    let isOneOfMany: Bool
    /// The number of the session's last turn at its creation; 0 if another process created it.
    let joined: UInt64
    private let state: Lock<State>

    fileprivate struct State {
        /// Nil if the stored history cannot be read.
        var history: PrincipalHistory?
        /// The renewals that are being stored, in their order, and the last one that could not be stored.
        var renewals: [Renewal] = []
        var lastRenewal = 0
        var isRenewing = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var revokedUntil: Duration?
        var isRevoked = false
        /// The time of the identity's proof: since 1970.
        var since: Duration
        var intents = TokenBucket()
        /// The last use and the last one that the journal knows, on the monotonic clock, as the next one.
        var lastUse: Duration
        var notedUse: Duration
        var cookieSet: Duration
        var settings: ClientSettings?
        /// Ends streams when the principal expires. Without a task while that is being created.
        var watch: (number: Int, task: Task<Void, Never>?)?
        var lastWatch = 0
    }

    /// A principal that replaces the present one when it is stored. Until then the client may do only what both may.
    struct Renewal {
        fileprivate let number: Int
        fileprivate let principal: Principal
        /// The session's last turn before the renewal restricted the client.
        fileprivate let since: UInt64
        fileprivate var isFailed = false
    }

    /// - Parameters:
    ///   - lastUse: the time of its last use, on the monotonic clock.
    ///   - cookieSet: the time when its cookie was last set, on the monotonic clock.
    init(
        _ stored: StoredCredential, root: TokenHash, isShared: Bool, joined: UInt64 = 0, lastUse: Duration,
        cookieSet: Duration
    ) {
        (isOneOfMany, self.joined) = (isShared, joined)
        (hash, kind, number, made, self.root) = (stored.token, stored.kind, stored.number, stored.made, root)
        state = Lock(
            State(
                history: Self.decode(stored), revokedUntil: stored.revokedUntil,
                isRevoked: stored.revokedUntil != nil, since: stored.made, lastUse: lastUse, notedUse: lastUse,
                cookieSet: cookieSet, settings: stored.settings))
    }

    // MARK: Use

    /// The time until its life is over without further use; zero or less if it is.
    func timeLeft(now: Duration, life: Duration) -> Duration { state.withLock { $0.lastUse + life - now } }

    /// Notes a request or an open stream. Returns false, and notes nothing, if its life is over.
    func use(now: Duration, life: Duration) -> Bool {
        state.withLock { state in
            guard now - state.lastUse < life else { return false }
            state.lastUse = max(state.lastUse, now)
            return true
        }
    }

    /// Returns the time of the last use if the journal's lags behind by `delay`; it counts as noted then.
    func takeUse(after delay: Duration) -> Duration? {
        state.withLock { state in
            guard !state.isRevoked, state.lastUse - state.notedUse >= delay else { return nil }
            state.notedUse = state.lastUse
            return state.lastUse
        }
    }

    /// The principal that is signed in now. Nil for a token from before the sign-in, and if the stored principal cannot
    /// be read: such a client has to renew it.
    package var principal: Principal? { state.withLock { $0.history?.present } }

    /// The values that its client has set.
    package var settings: ClientSettings? { state.withLock { $0.settings } }

    /// Returns false if its client has these settings already.
    func set(_ settings: ClientSettings?) -> Bool {
        state.withLock { state in
            defer { state.settings = settings }
            return state.settings != settings
        }
    }

    /// The principals that must all be allowed to do what the client does: its own, and those that will replace it.
    /// Empty if its own cannot be read.
    var principals: [Principal] { standing.principals }

    /// The same, and the former principals by which labels of earlier turns are judged.
    var standing: (principals: [Principal], former: [FormerPrincipals]) {
        state.withLock { ($0.principals, $0.history?.former ?? []) }
    }

    /// True if its principal has expired.
    func hasExpired(at now: Duration) -> Bool {
        state.withLock { $0.history?.present.hasExpired(at: Timestamp(sinceEpoch: now)) ?? false }
    }

    /// True if another credential has replaced it, or it was signed out.
    package var isRevoked: Bool { state.withLock { $0.isRevoked } }

    /// True if it was signed out here. That may not be stored yet, so its client may repeat it.
    var isClosed: Bool { state.withLock { $0.isRevoked && $0.revokedUntil == nil } }

    /// True if a request with it may still be answered by the credential that replaced it.
    package func mayBeRepeated(now: Duration) -> Bool { (state.withLock { $0.revokedUntil } ?? .zero) > now }

    private static func decode(_ stored: StoredCredential) -> PrincipalHistory? {
        guard var history = try? WireJSON.decode(PrincipalHistory.self, from: stored.principal) else { return nil }
        history.present = history.present.of(credential: stored.number)
        return history
    }

    /// Encodes a principal history for the journal.
    static func encode(_ history: PrincipalHistory) throws(StoreError) -> [UInt8] {
        do throws(WireEncodingError) { return try WireJSON.encode(history) } catch {
            throw StoreError(.refused, "The identity's claims cannot be stored: \(error.detail)")
        }
    }

    /// Returns the row of a renewal for the journal.
    ///
    /// - Parameter now: the time since 1970.
    func renewed(_ history: PrincipalHistory, now: Duration) throws(StoreError) -> StoredCredential {
        StoredCredential(
            token: hash, kind: kind, number: number, principal: try Self.encode(history), made: made, lastSeen: now)
    }

    // MARK: Renewing

    /// Restricts the client to what another principal may do as well.
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

    /// Returns when no other renewal is being stored: they take effect in the order in which they are stored.
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

    /// Lets the next renewal begin. A failed renewal restricts the client until another one takes effect or fails.
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

    /// Returns the history as it would be if a renewal took effect after a turn.
    ///
    /// - Parameter head: the number of the last turn whose labels the outbox has.
    func history(renewedBy renewal: Renewal, at turn: UInt64, _ outbox: Outbox, of head: UInt64) -> PrincipalHistory {
        state.withLock { $0.history(renewedBy: renewal, at: turn, outbox, of: head) }
    }

    /// Lets a stored renewal take effect. Counts as use. Returns the history after it.
    func renew(
        by renewal: Renewal, at turn: UInt64, _ outbox: Outbox, of head: UInt64, now: Moment
    ) -> PrincipalHistory {
        state.withLock { state in
            let history = state.history(renewedBy: renewal, at: turn, outbox, of: head)
            state.renewals.removeAll { $0.isFailed || $0.number == renewal.number }
            (state.history, state.since) = (history, now.sinceEpoch)
            (state.lastUse, state.notedUse) = (now.monotonic, now.monotonic)
            return history
        }
    }

    /// Adopts the principals that another process stored, and the last use there. Returns true if the present principal
    /// is different.
    func adopt(_ stored: StoredCredential, now: Moment) -> Bool {
        guard stored.revokedUntil == nil, let newer = Self.decode(stored) else { return false }
        return state.withLock { state in
            let used = min(now.monotonic, now.monotonic(stored.lastSeen))
            (state.lastUse, state.notedUse) = (max(state.lastUse, used), max(state.notedUse, used))
            guard !state.isRevoked, newer != state.history else { return false }
            let isOther = newer.present != state.history?.present
            state.history = newer
            if isOther { state.since = now.sinceEpoch }
            return isOther
        }
    }

    /// - Parameter until: the time until which the request that replaced it may be repeated.
    func revoke(until: Duration? = nil) {
        let watch = state.withLock { state in
            (state.isRevoked, state.revokedUntil) = (true, until)
            return state.watch.take()
        }
        watch?.task?.cancel()
    }

    /// The time before the principal's expiry at which its streams are told: half a minute, or a tenth of its lifetime.
    var noticeTime: Duration {
        let life = (principal?.expiry?.sinceEpoch ?? .zero) - state.withLock { $0.since }
        return min(.seconds(30), max(.zero, life / 10))
    }

    /// Counts an intent. Returns nil if it may be sent now, otherwise the time until then.
    func takeIntent(_ rate: Rate, now: Duration) -> Duration? { state.withLock { $0.intents.take(rate, now: now) } }

    /// True if half of the cookie's life has passed since it was last set. If so it counts as set now.
    func cookieIsDue(now: Duration, life: Duration) -> Bool {
        state.withLock { state in
            guard now - state.cookieSet >= life / 2 else { return false }
            state.cookieSet = now
            return true
        }
    }

    // MARK: Watching the principal's expiry

    /// Returns the number of a new watch, for which the caller creates a task; nil if there is one.
    func beginWatch() -> Int? {
        state.withLock { state in
            guard state.watch == nil, !state.isRevoked else { return nil }
            state.lastWatch += 1
            state.watch = (state.lastWatch, nil)
            return state.lastWatch
        }
    }

    /// Stores a watch's task, to be canceled with it.
    func attach(_ task: Task<Void, Never>, to watch: Int) {
        let isPresent = state.withLock { state in
            guard state.watch?.number == watch else { return false }
            state.watch?.task = task
            return true
        }
        if !isPresent { task.cancel() }
    }

    /// Ends a watch; nil ends the current one.
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
        renewedBy renewal: Credential.Renewal, at turn: UInt64, _ outbox: Outbox, of head: UInt64
    ) -> PrincipalHistory {
        var history = history ?? PrincipalHistory(renewal.principal)
        // Without a readable principal the client was allowed nothing.
        let before = self.history.map { [$0.present] } ?? []
        history.add(before, through: renewals.map(\.since).min() ?? turn)
        history.add(principals, through: turn)
        history.present = renewal.principal
        history.trim(to: outbox, of: head)
        return history
    }
}

/// The stored fingerprint of an identity's proof: its SHA-256.
package enum ProofHash {
    package static func of(_ proof: String) -> [UInt8] { SHA256.digest(Array(proof.utf8)) }
}
