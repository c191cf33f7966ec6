import MVI

/// A journal as tools look at it, beside servers that run or while none does. Everything is only read; its methods block,
/// and each call sees one moment.
package protocol JournalInspection: Sendable {
    /// Where it is, for a message: without a password.
    var place: String { get }
    /// Sessions in the order in which they were made, at most so many.
    ///
    /// - Parameter session: the last one of the call before; nil to begin.
    func sessions(after session: SessionKey?, limit: Int) throws(StoreError) -> [SessionOverview]
    /// Everything that is kept of the session with a public id; nil if there is none.
    func export(_ id: String) throws(StoreError) -> SessionExport?
}

/// A journal as tools change it. Its methods block.
package protocol JournalMaintenance: JournalInspection {
    /// Gives the journal's secret another key, see `JournalSecret.rotated`. Servers that share the journal go on meanwhile.
    ///
    /// Fails with `StoreError.Code.contended` if the key was changed a moment ago, or if a server uses a journal that is
    /// for one process.
    ///
    /// - Parameters:
    ///   - now: time since 1970.
    ///   - tokenLife: how long a token names a session that is not kept: the longest life that a server gave sessions.
    func rotateKey(now: Duration, tokenLife: Duration) throws(StoreError)

    /// Signs everybody out, in sessions that are kept and in those that are not: no token that was ever given names a session
    /// afterwards, and the secret has another key and no former one.
    ///
    /// Sessions stay, each without credentials and under a token that nobody has: the one that a subject's devices share is
    /// joined by signing in, the others expire in their time, and reminders of all of them fire. Fails with
    /// `StoreError.Code.contended` while a server uses the journal.
    ///
    /// - Returns: how many sessions are kept.
    func signOutAll() throws(StoreError) -> Int
}
