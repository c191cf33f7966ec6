import EventStream
import Locking
import MVI
import Networks
import SessionJournal

/// Which clients a session keeps out although the journal may not know it yet.
enum SessionGate {
    case open
    /// A client signs in: the token that the session began with is good for nothing else.
    case signingIn
    /// The session is being ended.
    case ending
}

/// A session's gate: what takes access away closes it at once, what a request does is judged when it acts.
///
/// Each change of access has a generation. A batch, a read and a stream's step are valid only for the generation by which
/// their clients were judged; else they are judged anew.
extension SessionCore {
    /// Why a client may not use the session; nil if it may, as far as its principal's time and access rules allow.
    func refusal(of client: SessionClient) -> StoreError? {
        if let refusal { return refusal }
        switch gate {
        // Not that it has ended: that is so once it is kept.
        case .ending: return .ending
        case .signingIn where client.credential == nil: return .signingIn
        case .open, .signingIn: break
        }
        let isGood = client.credential.map { !$0.isRevoked } ?? credentials.isEmpty
        return isGood ? nil : .signedOut
    }

    /// Whether a client is of a credential, or anonymous where that is nil.
    private static func isOf(_ credential: Credential?, _ gone: [Credential?]) -> Bool {
        gone.contains { $0 === credential }
    }

    /// Notes that access was changed, and ends the streams and waits of clients that lost theirs.
    ///
    /// - Parameters:
    ///   - gone: their credentials; nil is the token that the session began with.
    ///   - endsWaits: whether waits end now; else they are judged when they end by themselves.
    mutating func noteAccessChange(
        endingStreamsOf gone: [Credential?] = [], _ reason: GoAwayReason = .ended, endsWaits: Bool = true
    ) -> SessionAccessChange {
        accessGeneration += 1
        streams.cut(reason) { Self.isOf($0.credential, gone) }
        let numbers = endsWaits ? gone.map { $0?.number ?? 0 } : []
        return SessionAccessChange(
            wakers: streams.takeWakers(), waits: waits.values.filter { numbers.contains($0.credential) })
    }
}

/// What follows from a change of access, outside the session's lock.
struct SessionAccessChange {
    var wakers: ShortList<any StreamWaker>
    var waits: [Wait]

    func finish() {
        for waker in wakers { waker.wake() }
        for wait in waits { wait.end(false) }
    }
}

extension Session {
    /// Why a client may not use a feature instance now, or the session where that is nil; nil if it may. Asks the author's
    /// rule, so under no lock.
    package func refusal(
        of client: SessionClient, _ feature: FeatureID? = nil, _ access: Access = .read
    ) -> StoreError? {
        if let refusal = core.withLock({ $0.refusal(of: client) }) { return refusal }
        return ruling(of: client, feature, access)
    }

    /// The same for a client that wants to sign out, or to end the session: it may repeat that where it could not be kept, and
    /// a principal whose time is over does not keep it from it.
    func refusalToEnd(of client: SessionClient, everywhere: Bool) -> StoreError? {
        core.withLock { core in
            if core.gate == .ending { return core.refusal }
            if !everywhere, let credential = client.credential, credential.isClosed,
                core.credentials.contains(where: { $0 === credential })
            {
                return core.refusal
            }
            return core.refusal(of: client)
        }
    }

    /// The same but for what the session's lock guards.
    private func ruling(of client: SessionClient, _ feature: FeatureID?, _ access: Access) -> StoreError? {
        let principals = client.credential?.principals ?? client.principal.map { [$0] } ?? []
        let now = Timestamp(sinceEpoch: shared.time.sinceEpoch())
        if client.credential != nil, principals.isEmpty || principals.contains(where: { $0.hasExpired(at: now) }) {
            return .identityExpired
        }
        guard let feature, shared.features.isRuled(feature) else { return nil }
        guard !principals.isEmpty else { return .noAccess(isAnonymous: true) }
        return principals.allSatisfy { shared.features.allows($0, feature, access) }
            ? nil : .noAccess(isAnonymous: false)
    }

    /// Whether the lock alone tells what a client may do: it has no credential, and the feature no rule.
    func isPlain(_ client: SessionClient, _ feature: FeatureID) -> Bool {
        client.credential == nil && (shared.features.ruled.isEmpty || !shared.features.isRuled(feature))
    }

    /// Judges the client of a job at its turn: the batch is valid only as long as access is not changed.
    ///
    /// Only the queue's runner is here.
    func judgeTurn(_ client: SessionClient, _ feature: FeatureID, _ access: Access) -> StoreError? {
        core.withLock { core in
            core.batch.accessGeneration = core.batch.accessGeneration ?? core.accessGeneration
            return core.refusal(of: client)
        } ?? (isPlain(client, feature) ? nil : ruling(of: client, feature, access))
    }

    /// Reads what a client may read, under the lock; fails if it may not.
    func reading<Value>(
        as client: SessionClient, _ feature: FeatureID, _ body: (inout SessionCore) -> Value
    ) -> Result<Value, StoreError> {
        while true {
            var judged: UInt64?
            if !isPlain(client, feature) {
                judged = core.withLock { $0.accessGeneration }
                if let refusal = refusal(of: client, feature, .read) { return .failure(refusal) }
            }
            let result = core.withLock { core -> Result<Value, StoreError>? in
                if let judged, judged != core.accessGeneration { return nil }
                if let refusal = core.refusal(of: client) { return .failure(refusal) }
                return .success(body(&core))
            }
            if let result { return result }
        }
    }

    /// Whether a principal may use an instance now: one that signed out may not use what a rule guards. For turns of other
    /// stores and steps of launched work, which have outlived the request that they come from.
    ///
    /// The principal's expiry does not count: its client may renew it as long as the work goes on.
    func allows(_ principal: Principal?, _ feature: FeatureID, _ access: Access) -> Bool {
        guard shared.features.isRuled(feature) else { return true }
        guard let principal else { return false }
        guard let number = principal.credential else { return shared.features.allows(principal, feature, access) }
        let (generation, credential) = core.withLock { core in
            (core.accessGeneration, core.gate == .ending ? nil : core.credentials.first { $0.number == number })
        }
        core.withLock { $0.batch.accessGeneration = $0.batch.accessGeneration ?? generation }
        guard let credential, !credential.isRevoked else { return false }
        let principals = credential.principals
        return !principals.isEmpty && principals.allSatisfy { shared.features.allows($0, feature, access) }
    }

    // MARK: Taking access away

    /// Keeps out the token that the session began with, at once: a client signs in.
    func beginSignIn() {
        core.withLock { core in
            if core.gate == .open { core.gate = .signingIn }
            // Waits are told that the token is replaced, once that is kept.
            return core.noteAccessChange(endingStreamsOf: [nil], .identity, endsWaits: false)
        }.finish()
    }

    /// Keeps out credentials, at once.
    func close(_ credentials: [Credential], _ reason: GoAwayReason = .ended) {
        guard !credentials.isEmpty else { return }
        for credential in credentials { credential.revoke() }
        core.withLock { $0.noteAccessChange(endingStreamsOf: credentials, reason) }.finish()
    }

    /// Allows a credential only what another principal may do as well, at once: that is to take its principal's place.
    func restrict(_ credential: Credential, to principal: Principal) -> Credential.Renewal {
        let (renewal, change) = core.withLock { core in
            (credential.restrict(to: principal, since: core.head.number), core.noteAccessChange())
        }
        change.finish()
        return renewal
    }

    /// What is to be kept of a renewal that takes effect now.
    func history(of credential: Credential, renewedBy renewal: Credential.Renewal) -> PrincipalHistory {
        core.withLock { credential.history(renewedBy: renewal, at: $0.head.number, $0.outbox) }
    }

    /// Lets a renewal that is kept take effect; returns what is to be kept of it now.
    func renew(_ credential: Credential, by renewal: Credential.Renewal) -> PrincipalHistory {
        let now = shared.time.sinceEpoch()
        return core.withLock { core in
            core.accessGeneration += 1
            return credential.renew(by: renewal, at: core.head.number, core.outbox, now: now)
        }
    }

    /// Keeps every client out, at once: the session is being ended. Its waits are answered when that is kept, or at their own
    /// time.
    func closeAll() {
        core.withLock { core in
            core.gate = .ending
            return core.noteAccessChange(endingStreamsOf: [nil] + core.credentials, .ended, endsWaits: false)
        }.finish()
    }
}

extension StoreError.Code {
    /// The credential was signed out, or another one took its place.
    package static let signedOut = Self("signedOut")
    /// The time of the credential's principal is over.
    package static let identityExpired = Self("identityExpired")
    /// A client signs in to the session: the token that it began with is good for nothing until that is kept.
    package static let signingIn = Self("signingIn")
}

extension StoreError {
    static let signedOut = StoreError(.signedOut, "The session of this credential has ended.")
    static let identityExpired = StoreError(
        .identityExpired, "The identity that is signed in has expired; renew it.")
    static let signingIn = StoreError(
        .signingIn, "A client signs in to the session; use the credential that it gets.", retryAfter: .seconds(1))

    static let ending = StoreError(.unavailable, "The session is being ended.", retryAfter: .seconds(1))

    static func noAccess(isAnonymous: Bool) -> StoreError {
        StoreError(.forbidden, isAnonymous ? "Sign in to use this feature." : "You may not use this feature.")
    }
}

/// The client that a request is of. It is judged whenever the request acts: it may have lost its access meanwhile.
package struct SessionClient: Sendable {
    /// Nil for the token that the session began with: it is good as long as no client has signed in.
    package let credential: Credential?
    /// The principal of a client without a credential, in tests of features.
    private let given: Principal?
    /// Whose network shares what is bounded; nil for a client in this process.
    let address: PeerAddress?

    /// A client with a credential, or an anonymous one.
    package init(_ credential: Credential? = nil, principal: Principal? = nil, address: PeerAddress? = nil) {
        (self.credential, given, self.address) = (credential, principal, address)
    }

    /// Its principal now; nil for an anonymous client.
    package var principal: Principal? { credential?.principal ?? given }

    /// A client's own name for something, inside its credential where several share a session. No client can write the
    /// character between.
    func scoped(_ name: String) -> String {
        guard let credential, credential.isOneOfMany else { return name }
        return "\(credential.number)\u{1F}\(name)"
    }
}

extension Session {
    /// Calls `body` under the lock, with what rules say of the instances that a filter shows: asked outside the lock, and anew
    /// where access or the instances have changed meanwhile.
    func judging<Value>(
        _ filter: StreamFilter, of client: SessionClient, _ body: (inout SessionCore, StreamAccess) -> Value
    ) -> Value {
        let features = shared.features
        guard !features.ruled.isEmpty else { return core.withLock { body(&$0, StreamAccess()) } }
        while true {
            let (principals, former) = client.credential?.standing ?? (client.principal.map { [$0] } ?? [], [])
            let (generation, judged, isPastKnown) = core.withLock { core in
                let judged = core.ruled(filter, features)
                let record = former.isEmpty ? nil : core.access?[client.credential?.number ?? 0]
                return (
                    core.accessGeneration, judged,
                    former.isEmpty || record?.knowsPast(of: judged, core.accessGeneration) == true
                )
            }
            let past = isPastKnown ? nil : PastAccess(former, of: judged, features, generation)
            let denied = judged.filter { feature in
                principals.isEmpty || !principals.allSatisfy { features.allows($0, feature, .read) }
            }
            let value = core.withLock { core -> Value? in
                guard core.accessGeneration == generation, core.ruled(filter, features) == judged else { return nil }
                if let past, let credential = client.credential { core.note(past, of: credential) }
                return body(&core, StreamAccess(judged: judged, denied: denied))
            }
            if let value { return value }
        }
    }
}

/// What access rules say of the feature instances that a stream shows.
struct StreamAccess {
    /// The instances that have a rule, and those of them that the stream's client may not read.
    var judged: [FeatureID] = []
    var denied: [FeatureID] = []
}
