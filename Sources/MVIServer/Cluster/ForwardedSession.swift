import Locking
import SessionJournal
import Sessions

/// The session of a forwarded request.
struct ForwardedSession: Sendable {
    /// The node that runs its turns; nil if no other one does, or it is not known.
    let owner: @Sendable () -> NodeRecord?
    private let startCatchingUp: @Sendable (_ done: @escaping @Sendable () -> Void) -> Void

    init(
        owner: @escaping @Sendable () -> NodeRecord?,
        catchUp: @escaping @Sendable (_ done: @escaping @Sendable () -> Void) -> Void
    ) {
        (self.owner, startCatchingUp) = (owner, catchUp)
    }

    init(_ session: Session, owner: @escaping @Sendable (Session) -> NodeRecord?) {
        self.init(owner: { owner(session) }, catchUp: { session.catchUp($0) })
    }

    /// Returns when it is known here what other nodes appended, its owner among it.
    func catchUp() async {
        await awaitResult { done in startCatchingUp { done(()) } }
    }
}
