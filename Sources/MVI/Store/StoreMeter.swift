/// Measures what a store does, for its server's metrics. Its methods are called from any thread, never under a lock, and
/// must not block.
@usableFromInline
package protocol StoreMeter: AnyObject, Sendable {
    /// A turn ran: the author's code with its interceptors, `view` and encoding took so many nanoseconds. One that is run
    /// again after a conflict counts again.
    func turnTook(_ nanoseconds: UInt64)
    /// A turn is permanent.
    func turnCommitted(_ kind: TurnKind)
    /// A piece of launched work begins, or has ended.
    func workBegan()
    func workEnded()
}

/// What a turn is of.
@usableFromInline
package enum TurnKind: String, CaseIterable, Sendable {
    case intent, bootstrap, work, other
}
