import MVI

/// A journal as tools look at it, beside servers that run or while none does. Everything is only read; its methods block,
/// and each call sees one moment.
public protocol JournalInspection: Sendable {
    /// Where it is, for a message: without a password.
    var place: String { get }
    /// Sessions in the order in which they were made, at most so many.
    ///
    /// - Parameter session: the last one of the call before; nil to begin.
    func sessions(after session: SessionKey?, limit: Int) throws(StoreError) -> [SessionOverview]
    /// Everything that is kept of the session with a public id; nil if there is none.
    func export(_ id: String) throws(StoreError) -> SessionExport?
}
