import MVI
import SQLite
import SessionJournal

extension Connection {
    /// Creates the missing parts of the secret.
    mutating func makeSecret() throws {
        let random = JournalSecret.random()
        for (name, value) in [("key", random.key), ("generation", random.generation)]
        where try secret(name) == nil {
            try execute("INSERT INTO secrets (name, value) VALUES (?, ?)", [.text(name), .blob(value)])
        }
    }

    /// Changes the epochs of sessions that are not stored yet.
    mutating func renewGeneration() throws {
        try execute("DELETE FROM secrets WHERE name = 'generation'")
        try makeSecret()
    }

    mutating func secret() throws -> JournalSecret {
        guard let key = try secret("key"), let generation = try secret("generation"), key.count == 32 else {
            throw StoreError(.unavailable, "The journal's secret is damaged.")
        }
        let formerKeys = try query("SELECT name, value FROM secrets WHERE name GLOB ? || '*'", [.text(Self.formerKey)])
        {
            row in
            guard let until = Int64(try row.text(0).dropFirst(Self.formerKey.count)) else {
                throw StoreError(.unavailable, "The journal's secret is damaged.")
            }
            return JournalSecret.FormerKey(key: try row.blob(1), until: .nanoseconds(until))
        }
        return JournalSecret(
            key: key, formerKeys: formerKeys.sorted { $0.until > $1.until }, generation: generation)
    }

    /// The prefix of a former key's row. The rest is the time at which its tokens expire, in nanoseconds since 1970.
    private static let formerKey = "former key until "

    /// Replaces the stored secret.
    mutating func replaceSecret(by secret: JournalSecret) throws {
        try execute("DELETE FROM secrets")
        let formerKeys = secret.formerKeys.map { (Self.formerKey + "\($0.until.nanoseconds)", $0.key) }
        for (name, value) in [("key", secret.key), ("generation", secret.generation)] + formerKeys {
            try execute("INSERT INTO secrets (name, value) VALUES (?, ?)", [.text(name), .blob(value)])
        }
    }

    /// See `JournalMaintenance.signOutAll`.
    mutating func signOutAll() throws -> Int {
        try execute("DELETE FROM credentials")
        // Random bytes are the hash of no existing token. Spaces have none, and are found by theirs.
        let count = try execute("UPDATE sessions SET token = randomblob(32) WHERE space IS NULL")
        try replaceSecret(by: .random())
        return count
    }

    private mutating func secret(_ name: String) throws -> [UInt8]? {
        try first("SELECT value FROM secrets WHERE name = ?", [.text(name)]) { row in try row.blob(0) }
    }
}
