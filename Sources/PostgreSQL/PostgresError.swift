/// An error of a database.
///
/// Its message is the server's or libpq's. It contains names of hosts, users and tables, and values, but no passwords.
package struct PostgresError: Error, Sendable, CustomStringConvertible {
    /// The scope of an error.
    package enum Extent: Sendable, Hashable {
        /// Ends the transaction; the connection is usable.
        case transaction
        /// Ends the connection.
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

    /// The first two letters of the state, the class of the error; empty if there are none.
    package var stateClass: String { String((state ?? "").prefix(2)) }

    package var description: String { state.map { "\(message) (SQLSTATE \($0))" } ?? message }

    static func lost(_ message: String) -> PostgresError {
        PostgresError(state: nil, message: message, extent: .connection)
    }

    /// An error for a result of an unexpected form.
    static func unexpected(_ expected: String) -> PostgresError {
        PostgresError(state: nil, message: "The database sent a value other than \(expected).", extent: .transaction)
    }
}
