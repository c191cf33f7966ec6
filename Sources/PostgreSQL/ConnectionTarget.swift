import CPostgreSQL

/// A database and the way to connect to it.
package struct ConnectionTarget: Sendable {
    /// A URL or libpq's `keyword=value`, see https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING;
    /// empty for the environment's (`PGHOST`, `PGUSER` and so on). May contain a password.
    private let text: String
    /// The name in `pg_stat_activity`.
    let applicationName: String

    /// - Returns: Nil if libpq cannot parse the text. Its error is omitted, since it would repeat parts of the text.
    package init?(_ text: String, applicationName: String) {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(text, &message) else {
            PQfreemem(message)
            return nil
        }
        PQconninfoFree(options)
        (self.text, self.applicationName) = (text, applicationName)
    }

    /// Host, port, database and user for a person to read, without a password.
    package var description: String {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(text, &message) else { return "the database" }
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
            ("dbname", text),
            ("client_encoding", "UTF8"),
        ]
    }
}
