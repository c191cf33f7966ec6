import EventStream
import Locking
import MVI
import Networks
import SessionJournal
import Synchronization

/// The clients that a session excludes even if the journal does not know it yet.
enum SessionGate: Equatable {
    case open
    /// Clients sign in: the token that the session began with is valid for nothing else. Without a running sign-in, the
    /// outcome of the last one is unknown.
    case signingIn(running: Int)
    /// The session is being ended.
    case ending
}

/// A session's gate. Changes that revoke access take effect at once; a request is judged when it acts.
///
/// Each change of access has a generation. A batch, a read and a stream's step are valid only for the generation by
/// which their clients were judged; otherwise they are judged again.
extension SessionCore {
    /// The reason why a client may not use the session, apart from its principal's expiry and access rules; or nil.
    func refusal(of client: SessionClient) -> StoreError? {
        if let refusal { return refusal }
        switch gate {
        // Not "ended": that is true only after the commit.
        case .ending: return .ending
        case .signingIn where client.credential == nil: return .signingIn
        case .open, .signingIn: break
        }
        let isGood = client.credential.map { !$0.isRevoked } ?? credentials.isEmpty
        return isGood ? nil : .signedOut
    }
}

extension Session {
    /// Counts an access change, and ends the streams and waits of clients that lost access. Called under the lock.
    ///
    /// - Parameters:
    ///   - gone: their credentials; nil is the token that the session began with.
    ///   - endsWaits: true to end waits now; otherwise they are judged when they end by themselves.
    func noteAccessChange(
        _ core: inout SessionCore, endingStreamsOf gone: [Credential?] = [], _ reason: GoAwayReason = .ended,
        endsWaits: Bool = true
    ) -> SessionAccessChange {
        accessGeneration.add(1, ordering: .releasing)
        core.streams.cut(reason) { stream in gone.contains { $0 === stream.credential } }
        let ids = endsWaits ? gone.map { SessionClient($0).id } : []
        return SessionAccessChange(
            wakers: core.streams.takeWakers(), waits: core.waits.filter { ids.contains($0.client) })
    }
}

/// The consequences of an access change, outside the session's lock.
struct SessionAccessChange {
    var wakers: ShortList<any StreamWaker>
    var waits: [Wait]

    func finish() {
        for waker in wakers { waker.wake() }
        for wait in waits { wait.end(false) }
    }
}

extension Session {
    /// The reason why a client may not use a feature instance now, or the session if that is nil; nil if it may. Calls
    /// the feature's rule, so under no lock.
    package func refusal(
        of client: SessionClient, _ feature: FeatureID? = nil, _ access: Access = .read
    ) -> StoreError? {
        if let refusal = core.withLock({ $0.refusal(of: client) }) ?? client.refusal { return refusal }
        return ruling(of: client, feature, access)
    }

    /// The same for a client that wants to sign out or to end the session. It may repeat that after a failed commit,
    /// also with an expired principal.
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

    /// The same without the checks that need the session's lock.
    private func ruling(of client: SessionClient, _ feature: FeatureID?, _ access: Access) -> StoreError? {
        let principals = client.standing
        let now = Timestamp(sinceEpoch: shared.time.sinceEpoch())
        if let credential = client.credential {
            if principals.isEmpty || principals.contains(where: { $0?.hasExpired(at: now) != false }) {
                return .identityExpired
            }
            if isUnused(credential) { return .identityExpired }
        }
        guard let feature, shared.features.isRuled(feature) else { return nil }
        return principals.allSatisfy { shared.features.allows($0, feature, access) }
            ? nil : .noAccess(isAnonymous: principals == [nil])
    }

    /// True if the lock alone decides about a client of the session: it has no credential, and the feature no rule.
    func isPlain(_ client: SessionClient, _ feature: FeatureID) -> Bool {
        client.credential == nil && space == nil
            && (shared.features.ruled.isEmpty || !shared.features.isRuled(feature))
    }

    /// Judges the client of a job at its turn. The batch is valid only until access changes.
    ///
    /// Called only by the queue's runner.
    func judgeTurn(_ client: SessionClient, _ feature: FeatureID, _ access: Access) -> StoreError? {
        if let caller = client.caller {
            var judged = JudgedCaller(caller, forTurn: true)
            let refusal = refusal(of: client, feature, access)
            if refusal != nil { judged.expected = nil }
            let visit = refusal == nil && access != .read ? visit(of: client, caller) : nil
            core.withLock { [judged] in $0.add(judged, visit) }
            return refusal
        }
        return core.withLock { core in
            core.batch.accessGeneration = core.batch.accessGeneration ?? accessGeneration.load(ordering: .relaxed)
            return core.refusal(of: client)
        } ?? (isPlain(client, feature) ? nil : ruling(of: client, feature, access))
    }

    /// Reads under the lock on behalf of a client; fails if it may not read.
    func reading<Value>(
        as client: SessionClient, _ feature: FeatureID, _ body: (inout SessionCore) -> Value
    ) -> Result<Value, StoreError> {
        while true {
            var judged: JudgedCaller?
            if !isPlain(client, feature) {
                judged = JudgedCaller(client.caller ?? self)
                if let refusal = refusal(of: client, feature, .read) { return .failure(refusal) }
            }
            let result = core.withLock { core -> Result<Value, StoreError>? in
                if judged?.isCurrent == false { return nil }
                if let refusal = core.refusal(of: client) { return .failure(refusal) }
                return .success(body(&core))
            }
            if let result { return result }
        }
    }

    /// True if a principal may use an instance now; a principal that signed out may not use what a rule guards. For
    /// turns of other stores and steps of launched work, which have outlived their request.
    ///
    /// The principal's expiry does not count: its client may renew it as long as the work goes on.
    func allows(_ principal: Principal?, _ feature: FeatureID, _ access: Access) -> Bool {
        guard shared.features.isRuled(feature) else { return true }
        // In a space, the batch is valid only as long as its callers' access is.
        guard let number = principal?.credential, space == nil else {
            return shared.features.allows(principal, feature, access)
        }
        let (generation, credential) = core.withLock { core in
            (
                accessGeneration.load(ordering: .acquiring),
                core.gate == .ending ? nil : core.credentials.first { $0.number == number }
            )
        }
        core.withLock { $0.batch.accessGeneration = $0.batch.accessGeneration ?? generation }
        guard let credential, !credential.isRevoked else { return false }
        let principals = credential.principals
        return !principals.isEmpty && principals.allSatisfy { shared.features.allows($0, feature, access) }
    }
}

extension StoreError.Code {
    /// The credential was signed out, or another one replaced it.
    package static let signedOut = Self("signedOut")
    /// The credential's principal has expired.
    package static let identityExpired = Self("identityExpired")
    /// A client signs in to the session: the token that it began with is not valid until that is committed.
    package static let signingIn = Self("signingIn")
}

extension StoreError {
    static let signedOut = StoreError(.signedOut, "The session of this credential has ended.")
    static let identityExpired = StoreError(
        .identityExpired, "The identity has expired; renew it.")
    static let signingIn = StoreError(
        .signingIn, "A client is signing in to the session; use its new credential.", retryAfter: .seconds(1))

    static let ending = StoreError(.unavailable, "The session is being ended.", retryAfter: .seconds(1))

    static func noAccess(isAnonymous: Bool) -> StoreError {
        StoreError(.forbidden, isAnonymous ? "Sign in to use this feature." : "You may not use this feature.")
    }
}

/// The client of a request. It is judged whenever the request acts, since it may have lost access meanwhile.
package struct SessionClient: Sendable {
    /// Nil for the token that its session began with, which is valid until a client signs in.
    package let credential: Credential?
    /// Nil for most clients.
    private let rare: Rare?

    private final class Rare: ClientOrigin {
        let principal: Principal?
        let address: PeerAddress?
        let onLeave: (@Sendable (_ action: @escaping @Sendable () -> Void) -> Void)?
        let caller: Session?
        /// The access generation of the caller's session by which it may use that.
        let admitted = Atomic<UInt64>(.max)

        init(
            _ principal: Principal?, _ address: PeerAddress?,
            _ onLeave: (@Sendable (_ action: @escaping @Sendable () -> Void) -> Void)?, _ caller: Session?
        ) {
            (self.principal, self.address, self.onLeave, self.caller) = (principal, address, onLeave, caller)
            // What waits in a space keeps its caller's session in memory: another object of it would not tell of a
            // change of access.
            caller?.pins.add(1, ordering: .relaxed)
        }

        var clientAddress: String? { address?.ipText }

        deinit { caller?.pins.subtract(1, ordering: .relaxed) }
    }

    /// A client with a credential, or an anonymous one.
    ///
    /// - Parameters:
    ///   - principal: the principal of a client without a credential, in tests of features.
    ///   - address: the address whose network shares limits; nil for a client in this process.
    ///   - onLeave: registers an action for the moment when the client leaves; nil for a client that does not.
    ///   - caller: the client's own session, if the request acts in a space; nil if it acts in its session.
    package init(
        _ credential: Credential? = nil, principal: Principal? = nil, address: PeerAddress? = nil,
        onLeave: (@Sendable (_ action: @escaping @Sendable () -> Void) -> Void)? = nil, caller: Session? = nil
    ) {
        self.credential = credential
        let isPlain = principal == nil && address == nil && onLeave == nil && caller == nil
        rare = isPlain ? nil : Rare(principal, address, onLeave, caller)
    }

    var address: PeerAddress? { rare?.address }
    var onLeave: (@Sendable (_ action: @escaping @Sendable () -> Void) -> Void)? { rare?.onLeave }
    /// Knows its address; nil for a client in this process.
    var origin: (any ClientOrigin)? { rare?.address == nil ? nil : rare }
    /// Its own session, if it acts in a space.
    var caller: Session? { rare?.caller }

    /// Its principal now; nil for an anonymous client.
    package var principal: Principal? { credential?.principal ?? rare?.principal }

    /// The same client as it acts in a space.
    ///
    /// - Parameter session: its own.
    package func `in`(_ session: Session) -> SessionClient {
        SessionClient(credential, principal: rare?.principal, address: address, onLeave: onLeave, caller: session)
    }

    var id: CallerID { CallerID(session: caller?.tokenHash, credential: credential?.number ?? 0) }

    /// A client's own name for something, qualified if several clients share a session or a space; the only client of a
    /// session keeps its names when it signs in. No client can write the separator.
    func scoped(_ name: String) -> String {
        let number = credential?.isOneOfMany == true ? credential?.number : nil
        if let caller { return "\(caller.visitor(credential)).\(number ?? 0)\(Self.scopeEnd)\(name)" }
        return number.map { "\($0)\(Self.scopeEnd)\(name)" } ?? name
    }

    /// The principals that must all be allowed to do what the client does; empty if its own cannot be read. An anonymous
    /// client is one that has none.
    var standing: [Principal?] { credential.map { $0.principals } ?? [rare?.principal] }

    /// The reason why it may not use its own session; nil if it may, or if it acts in that. Takes its session's lock, once
    /// for each of its access generations.
    var refusal: StoreError? {
        guard let rare, let caller = rare.caller else { return nil }
        let generation = caller.accessGeneration.load(ordering: .acquiring)
        if rare.admitted.load(ordering: .relaxed) == generation { return nil }
        let refusal = caller.core.withLock { $0.refusal(of: SessionClient(credential)) }
        if refusal == nil { rare.admitted.store(generation, ordering: .relaxed) }
        return refusal
    }
}

extension Session {
    /// Calls `body` under the lock, with the rules' results for the instances that a filter shows. Rules are called
    /// outside the lock, again if access or the instances have changed meanwhile.
    func judging<Value>(
        _ filter: StreamFilter, of client: SessionClient, _ body: (inout SessionCore, StreamAccess) -> Value
    ) -> Value {
        let features = shared.features
        guard !features.ruled.isEmpty else { return core.withLock { body(&$0, StreamAccess(self)) } }
        while true {
            let caller = JudgedCaller(client.caller ?? self)
            // A space keeps no history of access.
            let former = space == nil ? client.credential?.standing.former ?? [] : []
            let judged: [FeatureID]
            var past: PastAccess?
            // Named ones are the same whatever the session has.
            if former.isEmpty, case .features(let named) = filter {
                judged = features.ruled(among: named)
            } else {
                let isPastKnown: Bool
                (judged, isPastKnown) = core.withLock { core in
                    let judged = core.ruled(filter, features)
                    let record = former.isEmpty ? nil : core.access?[client.credential?.number ?? 0]
                    return (judged, former.isEmpty || record?.knowsPast(of: judged, caller.generation) == true)
                }
                if !isPastKnown { past = PastAccess(former, of: judged, features, caller.generation) }
            }
            let denied = judged.isEmpty ? [] : features.denied(of: judged, to: client)
            let value = core.withLock { [past] core -> (Value, granted: [FeatureID])? in
                guard caller.isCurrent, filter.isNamed || core.ruled(filter, features) == judged else { return nil }
                if let past, let credential = client.credential { core.note(past, of: credential) }
                let value = body(&core, StreamAccess(self, judged: judged, denied: denied))
                guard let rare = core.rare, !rare.granted.isEmpty else { return (value, []) }
                defer { rare.granted = [] }
                return (value, rare.granted)
            }
            guard let (value, granted) = value else { continue }
            if !granted.isEmpty { bringBack(Array(granted.prefix(shared.limits.loadedStores))) }
            return value
        }
    }
}

extension Session {
    /// The same for a stream of a space that shows only what everyone may read; nil if its client may not, or if that has
    /// just changed.
    func judgingCaller<Value>(
        _ client: SessionClient, _ body: (inout SessionCore, StreamAccess) -> Value
    ) -> Value? {
        let caller = JudgedCaller(client.caller ?? self)
        guard client.refusal == nil, !client.standing.isEmpty else { return nil }
        return core.withLock { caller.isCurrent ? body(&$0, StreamAccess(self)) : nil }
    }
}

extension FeatureRegistry {
    /// True if everyone may read all that a filter shows.
    func areForEveryone(_ filter: StreamFilter) -> Bool {
        guard case .features(let named) = filter else { return false }
        return named.allSatisfy { definition(for: $0)?.spaces?.isForEveryone == true }
    }

    fileprivate func ruled(among named: [FeatureID]) -> [FeatureID] {
        // Most name one, and an array of it is there.
        named.allSatisfy(isRuled) ? named : named.filter(isRuled)
    }

    /// The instances that a client may not read. Calls rules, so under no lock.
    fileprivate func denied(of judged: [FeatureID], to client: SessionClient) -> [FeatureID] {
        if client.refusal != nil { return judged }
        let principals = client.standing
        if principals.isEmpty { return judged }
        return judged.filter { feature in
            guard let definition = definition(for: feature), definition.spaces?.isForEveryone != true else {
                return false
            }
            return !principals.allSatisfy { definition.allows($0, key: feature.key, .read) }
        }
    }
}

/// The results of access rules for the feature instances that a stream shows.
struct StreamAccess {
    private let session: Session
    /// The instances that have a rule, and those of them that the stream's client may not read.
    var judged: [FeatureID] = []
    var denied: [FeatureID] = []

    init(_ session: Session, judged: [FeatureID] = [], denied: [FeatureID] = []) {
        (self.session, self.judged, self.denied) = (session, judged, denied)
    }

    /// True if this build serves the feature in the session.
    func serves(_ feature: FeatureID) -> Bool {
        session.shared.features.definition(for: feature, in: session.space) != nil
    }
}
