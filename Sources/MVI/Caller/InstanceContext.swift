/// What the maker of a keyed feature knows beside the key.
public struct InstanceContext: Sendable {
    /// The session that names the key.
    public let session: SessionInfo
    /// Who names the key first; nil for somebody who is not signed in, and for a store that comes back from the journal.
    public let principal: Principal?

    /// A context of its parts.
    @inlinable
    public init(session: SessionInfo, principal: Principal?) {
        (self.session, self.principal) = (session, principal)
    }
}
