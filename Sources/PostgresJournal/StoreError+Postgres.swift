import MVI
import PostgreSQL

extension StoreError {
    static let inDoubt = StoreError(
        .inDoubt,
        "The connection to the journal's database was lost while this session was written; the outcome is not known yet."
    )
    static let tooMuchWaits = StoreError(
        .unavailable, "Too many requests wait for the journal; its database does not keep up.")
    static let otherGeneration = StoreError(
        .contended, "The journal's database lost commits; sessions that are not stored have new epochs.",
        retryAfter: .seconds(3))
    static let tooManyReads = StoreError(
        .unavailable, "Too many sessions are being loaded; the journal's database does not keep up.")

    /// The error of a database, with a text for operators.
    init(_ error: any Error, at place: String) {
        switch error {
        case let error as StoreError: self = error
        case let error as PostgresError: self.init(error.storeCode, Self.sentence(error, place))
        case let error as PipelineFailure: self.init(error.error, at: place)
        case let error as WriteFailure: self.init(error.error, at: place)
        default: self.init(.unavailable, "The journal in PostgreSQL (\(place)) cannot be used: \(error)")
        }
    }

    private static func sentence(_ error: PostgresError, _ place: String) -> String {
        let journal = "The journal in PostgreSQL (\(place))"
        return switch (error.state, error.stateClass) {
        case ("53100", _): "\(journal) has no disk space: \(error). Free some space on the database's disk."
        case ("53300", _): "\(journal) accepts no more connections: \(error)."
        case ("25006", _), ("55000", _): "\(journal) is not writable: \(error). Is it a standby?"
        case ("42501", _), (_, "28"): "\(journal) refuses the user: \(error)."
        case (PostgresError.otherPlace, _):
            "\(journal) was replaced, restored or promoted, or another connection writes in place of this one."
        case (_, "21"), (_, "22"), (_, "23"), (_, "54"): "The journal cannot store this: \(error)."
        default: "\(journal) cannot be used: \(error)\(advice(error.message))"
        }
    }

    /// Advice for failed connections, appended to libpq's message, which has no code for these.
    private static func advice(_ message: String) -> String {
        let places = "in PGPASSWORD, in a password file, or in --journal-file."
        let advice = [
            ("password authentication failed", "Check the user, and the password: \(places)"),
            ("no password supplied", "Give the user's password: \(places)"),
            (
                "does not match host name",
                "Name the host as its certificate does, or give the server a certificate with this name."
            ),
            ("certificate verify failed", authority), ("root certificate file", authority),
            (
                "no encryption",
                "Ask for TLS with sslmode=verify-full, or allow this user from here in the server's pg_hba.conf."
            ),
        ]
        guard let found = advice.first(where: { message.contains($0.0) }) else { return "" }
        return (message.hasSuffix(".") ? " " : ". ") + found.1
    }

    private static let authority = "Name the certificate of the authority that signed the server's with sslrootcert."
}

extension PostgresError {
    /// Division by zero, which ends a transaction if the database is not the one that its connection began with.
    static let otherPlace = "22012"

    var storeCode: StoreError.Code {
        if state == "53100" { return .full }
        if state == Self.otherPlace { return .unavailable }
        // Another transaction created the same row, for example during a restore.
        if state == "23505" { return .unavailable }
        return ["21", "22", "23", "54"].contains(stateClass) ? .invalid : .unavailable
    }

    /// True if the whole database fails, so that other writes on this connection would fail too.
    var isOfDatabase: Bool {
        if extent == .connection || state == Self.otherPlace { return true }
        // A standby, which has no log position of its own.
        if state == "55000" { return true }
        if state == "57014" { return false }
        // Resources, an operator's intervention, the system, connections, read-only, authorization, a missing database,
        // a missing schema.
        return ["53", "57", "58", "08", "25", "28", "3D", "3F", "42"].contains(stateClass)
    }

    /// True if a retry may succeed at once: a deadlock, a serialization failure, a row that was just created.
    var isWorthAnotherTry: Bool { ["40P01", "40001", "23505"].contains(state) }

    /// Another transaction held a row or a lock for longer than the wait.
    var isOfLock: Bool { state == "55P03" }

    /// An append changes a store that is missing: see `PostgresSchema.sixth`.
    var lacksStore: Bool { state == "MVI01" }

    /// No partition for a row: 23514 is a failed check, and the tables' own checks hold for all written rows.
    var lacksPartition: Bool { state == "23514" }
}
