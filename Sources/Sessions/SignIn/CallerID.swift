import EventStream
import LibCrypto
import MVI
import SessionJournal

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
    /// The access in the journal by which it was judged; nil if it is not for a turn, if it was refused, or if no other
    /// process writes.
    var expected: ExpectedCaller?

    /// Made before the judgement.
    init(_ session: Session, forTurn isForTurn: Bool = false) {
        (self.session, generation) = (session, session.accessGeneration.load(ordering: .acquiring))
        expected = isForTurn && session.shared.lease != nil ? session.expectedAccess : nil
    }

    /// True if nothing newer of its session's access is known here.
    var isUpToDate: Bool { isCurrent && session.expectedAccess == expected }

    /// False if the caller has to be judged again.
    var isCurrent: Bool { session.accessGeneration.load(ordering: .acquiring) == generation }
}

extension Session {
    fileprivate var expectedAccess: ExpectedCaller {
        let (key, access) = core.withLock { ($0.key, $0.accessChanges) }
        return ExpectedCaller(token: tokenHash, session: key, access: access)
    }

    /// Reads what other nodes changed in callers' sessions. `done` receives the error if one cannot be read.
    func readAnew(_ callers: ArraySlice<JudgedCaller>, _ done: @escaping @Sendable (StoreError?) -> Void) {
        guard let first = callers.first else { return done(nil) }
        first.session.catchUp { [self] in
            // Otherwise the batch would be refused again and again.
            if first.isUpToDate { return done(.callerUnread) }
            readAnew(callers.dropFirst(), done)
        }
    }

    /// The name of a caller in this space.
    package func sender(_ caller: Session, _ principal: Principal?, _ credential: Credential?) -> Sender {
        Sender(id: senderID(of: caller.visitor(credential)), session: caller.id, subject: principal?.identity)
    }

    /// The name in this space of a visitor.
    func senderID(of visitor: String) -> String { Sender.id(of: visitor, in: id) }

    /// The name by which spaces keep what a client of this session sent: a user who did not take over what the anonymous
    /// client had is another one.
    func visitor(_ credential: Credential?) -> String {
        guard let credential, !credential.isOneOfMany, credential.number == StoredCredential.ofAnotherPerson else {
            return id
        }
        return "\(id)~\(credential.number)"
    }
}

extension Sender {
    /// The name of a visitor in the space with a public id.
    static func id(of session: String, in space: String) -> String {
        // The space's id is random, and only the server's code knows it.
        Epoch.name(digest: SHA256.digest(Array("sender:\(space):\(session)".utf8)))
    }
}

extension StoreError {
    static let callerUnread = StoreError(
        .unavailable, "The access of the client cannot be read now.", retryAfter: .seconds(1))
}
