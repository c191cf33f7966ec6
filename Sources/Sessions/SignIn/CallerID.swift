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
    package func sender(_ caller: Session, _ principal: Principal?) -> Sender {
        Sender(id: senderID(of: caller.id), session: caller.id, subject: principal?.identity)
    }

    /// The name in this space of clients of a session.
    func senderID(of session: String) -> String { Sender.id(of: session, in: id) }
}

extension Sender {
    /// The name of clients of a session in the space with a public id.
    static func id(of session: String, in space: String) -> String {
        // The space's id is random, and only the server's code knows it.
        Epoch.name(digest: SHA256.digest(Array("sender:\(space):\(session)".utf8)))
    }
}

extension StoreError {
    static let callerUnread = StoreError(
        .unavailable, "The access of the client cannot be read now.", retryAfter: .seconds(1))
}
