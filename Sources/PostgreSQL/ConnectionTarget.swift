import CPostgreSQL
import Locking

/// A database and the way to connect to it.
package struct ConnectionTarget: Sendable {
    /// A URL or libpq's `keyword=value`, see https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING;
    /// empty for the environment's (`PGHOST`, `PGUSER` and so on). May contain a password. The last valid one.
    private let text: Lock<String>
    private let reread: (@Sendable () throws -> String)?
    /// The name in `pg_stat_activity`.
    let applicationName: String

    /// - Parameter reread: Returns the present text, which may have a new password. Called before each connection,
    ///   except for nil; after an error the connection uses the last text.
    /// - Returns: Nil if libpq cannot parse the text. Its error is omitted, since it would repeat parts of the text.
    package init?(_ text: String, applicationName: String, reread: (@Sendable () throws -> String)? = nil) {
        guard Self.isValid(text) else { return nil }
        (self.text, self.applicationName, self.reread) = (Lock(text), applicationName, reread)
    }

    private static func isValid(_ text: String) -> Bool {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(text, &message) else {
            PQfreemem(message)
            return false
        }
        PQconninfoFree(options)
        return true
    }

    /// Reads the text again. Returns the reason if that fails.
    func refresh() -> String? {
        guard let reread else { return nil }
        do {
            let present = try reread()
            guard Self.isValid(present) else { return "The new connection text is not one that libpq accepts." }
            text.withLock { $0 = present }
            return nil
        } catch { return "\(error)" }
    }

    /// Host, port, database and user for a person to read, without a password.
    package var description: String {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(text.withLock { $0 }, &message) else { return "the database" }
        defer { PQconninfoFree(options) }
        var parts: [String] = []
        var option = options
        while let keyword = option.pointee.keyword {
            let name = String(cString: keyword)
            if ["host", "hostaddr", "port", "dbname", "user"].contains(name), let value = option.pointee.val {
                parts.append("\(name)=\(String(cString: value))")
            }
            option += 1
        }
        return parts.isEmpty ? "the database of the environment" : parts.joined(separator: " ")
    }

    /// The keywords for libpq. Those in the text itself come later and take precedence.
    var keywords: [(String, String)] {
        [
            ("fallback_application_name", applicationName),
            // A silent network must be noticed in bounded time, also while no response is expected.
            ("keepalives_idle", "5"), ("keepalives_interval", "2"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "10000"),
            ("dbname", text.withLock { $0 }),
            ("client_encoding", "UTF8"),
        ]
    }
}
