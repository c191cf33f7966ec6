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
        return Sender(id: Epoch.name(digest: hash), session: caller.id, subject: principal?.identity)
    }
}
