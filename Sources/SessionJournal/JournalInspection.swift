import MVI

/// Read access to a journal for tools, while servers use it or not. The methods block, and each call sees one snapshot.
package protocol JournalInspection: Sendable {
    /// The journal's location without a password, for messages.
    var place: String { get }
    /// Lists at most `limit` sessions in the order of their creation.
    ///
    /// - Parameter session: The last one of the previous call; nil to begin.
    func sessions(after session: SessionKey?, limit: Int) throws(StoreError) -> [SessionOverview]
    /// Exports everything stored about the session with a public id; nil if there is none.
    func export(_ id: String) throws(StoreError) -> SessionExport?
}

/// Changes of a journal for tools. The methods block.
package protocol JournalMaintenance: JournalInspection {
    /// Replaces the secret's key, see `JournalSecret.rotated`. Servers that share the journal continue meanwhile.
    ///
    /// Fails with `StoreError.Code.contended` if the key was changed a moment ago, or if a server uses a journal that
    /// is limited to one process.
    ///
    /// - Parameters:
    ///   - now: Time since 1970.
    ///   - tokenLife: The lifetime of a token of a session that is not stored: the longest that a server gave sessions.
    func rotateKey(now: Duration, tokenLife: Duration) throws(StoreError)

    /// Signs everybody out of stored and unstored sessions: no token given so far names a session afterwards, and the
    /// secret gets a new key and no former one.
    ///
    /// Sessions stay, without credentials and under a token that nobody has. A subject's shared session is joined by
    /// signing in; the others expire in time, and reminders of all of them fire. Fails with `StoreError.Code.contended`
    /// while a server uses the journal.
    ///
    /// - Returns: The number of stored sessions.
    func signOutAll() throws(StoreError) -> Int
}
