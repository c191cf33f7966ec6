/// Why a database did not do what it was asked for.
///
/// Its message is the server's or libpq's. It names hosts, users, tables and values, and no passwords.
package struct PostgresError: Error, Sendable, CustomStringConvertible {
    /// How much of the connection the error ends.
    package enum Extent: Sendable, Hashable {
        /// The transaction; the connection is good.
        case transaction
        /// The connection.
        case connection
    }

    /// The SQLSTATE, five letters or digits; nil if no server sent one.
    /// https://www.postgresql.org/docs/15/errcodes-appendix.html
    package let state: String?
    /// One line.
    package let message: String
    package let extent: Extent

    package init(state: String?, message: String, extent: Extent) {
        (self.state, self.message, self.extent) = (state, message, extent)
    }

    /// The first two letters of the state, which name a class of errors; empty if there are none.
    package var stateClass: String { String((state ?? "").prefix(2)) }

    package var description: String { state.map { "\(message) (SQLSTATE \($0))" } ?? message }

    static func lost(_ message: String) -> PostgresError {
        PostgresError(state: nil, message: message, extent: .connection)
    }

    /// A result is not of the form that its reader expects.
    static func unexpected(_ expected: String) -> PostgresError {
        PostgresError(state: nil, message: "The database sent something else than \(expected).", extent: .transaction)
    }
}
