import EventStream
import LibCrypto
import MVI
import Networks
import SessionJournal

/// The client of a request. It is judged whenever the request acts, since it may have lost access meanwhile.
package struct SessionClient: Sendable {
    /// Nil for the token that its session began with, which is valid until a client signs in.
    package let credential: Credential?
    /// Nil for most clients.
    private let rare: Rare?

    private final class Rare: Sendable {
        let principal: Principal?
        let address: PeerAddress?
        let onLeave: (@Sendable (_ action: @escaping @Sendable () -> Void) -> Void)?
        let caller: Session?

        init(
            _ principal: Principal?, _ address: PeerAddress?,
            _ onLeave: (@Sendable (_ action: @escaping @Sendable () -> Void) -> Void)?, _ caller: Session?
        ) {
            (self.principal, self.address, self.onLeave, self.caller) = (principal, address, onLeave, caller)
            // What waits in a space keeps its caller's session in memory: another object of it would not tell of a
            // change of access.
            caller?.pins.add(1, ordering: .relaxed)
        }

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

    /// A client's own name for something, qualified if several clients share a session or a space. No client can write
    /// the separator.
    func scoped(_ name: String) -> String {
        if let caller { return "\(caller.id).\(credential?.number ?? 0)\u{1F}\(name)" }
        guard let credential, credential.isOneOfMany else { return name }
        return "\(credential.number)\u{1F}\(name)"
    }

    /// The principals that must all be allowed to do what the client does; empty if its own cannot be read. An anonymous
    /// client is one that has none.
    var standing: [Principal?] { credential.map { $0.principals } ?? [rare?.principal] }

    /// The reason why it may not use its own session; nil if it may, or if it acts in that. Takes its session's lock.
    var refusal: StoreError? {
        guard let caller else { return nil }
        return caller.core.withLock { $0.refusal(of: SessionClient(credential)) }
    }
}

/// The name of a client for all that is kept or compared for each: two anonymous clients of a space are two.
struct CallerID: Hashable, Sendable {
    /// The client's own session; nil if it acts in that.
    let session: TokenHash?
    /// The number of its credential; 0 without one.
    let credential: Int
}

/// A caller of a space and the access generation of its session by which it was judged.
struct JudgedCaller: Sendable {
    let session: Session
    let generation: UInt64

    /// Made before the judgement.
    init(_ session: Session) {
        (self.session, generation) = (session, session.accessGeneration.load(ordering: .acquiring))
    }

    /// False if the caller has to be judged again.
    var isCurrent: Bool { session.accessGeneration.load(ordering: .acquiring) == generation }
}

extension Session {
    /// The name of a caller in this space.
    func sender(_ caller: Session, _ principal: Principal?) -> Sender {
        // The space's id is random, and only the server's code knows it.
        let hash = SHA256.digest(Array("sender:\(id):\(caller.id)".utf8))
        return Sender(
            id: Epoch.name(hash.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }), session: caller.id,
            subject: principal?.identity)
    }
}
