import Locking
import SessionJournal
import Sessions

/// The functions of a session that the forwarder needs.
struct ForwardedSession: Sendable {
    /// Returns the other node that owns the session; nil if there is none or it is not known.
    let owner: @Sendable () -> NodeRecord?
    private let startCatchingUp: @Sendable (_ done: @escaping @Sendable () -> Void) -> Void

    init(
        owner: @escaping @Sendable () -> NodeRecord?,
        catchUp: @escaping @Sendable (_ done: @escaping @Sendable () -> Void) -> Void
    ) {
        (self.owner, startCatchingUp) = (owner, catchUp)
    }

    init(_ session: Session) {
        self.init(owner: { session.owningNode }, catchUp: { session.catchUp($0) })
    }

    /// Returns after the appends of other nodes are known here, including changes of the owner.
    func catchUp() async {
        await awaitResult { done in startCatchingUp { done(()) } }
    }
}
