import CPostgreSQL

/// Which database a connection is to, and how it gets there.
package struct ConnectionTarget: Sendable {
    /// A URL or libpq's `keyword=value`, see https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING; empty
    /// for what the environment says (`PGHOST`, `PGUSER` and the like). May hold a password.
    private let text: String
    /// What the database shows in `pg_stat_activity`.
    let applicationName: String

    /// - Returns: nil for a text that libpq cannot read. Its own sentence about that would repeat parts of the text.
    package init?(_ text: String, applicationName: String) {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(text, &message) else {
            PQfreemem(message)
            return nil
        }
        PQconninfoFree(options)
        (self.text, self.applicationName) = (text, applicationName)
    }

    /// Host, port, database and user for a person to read: no password.
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

    /// What is given to libpq. What the text itself says about these comes later and counts.
    var keywords: [(String, String)] {
        [
            ("fallback_application_name", applicationName),
            // A network that is silent must show in bounded time, also where no answer is waited for.
            ("keepalives_idle", "5"), ("keepalives_interval", "2"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "10000"),
            ("dbname", text),
            ("client_encoding", "UTF8"),
        ]
    }
}
