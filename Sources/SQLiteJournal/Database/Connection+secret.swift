import MVI
import SQLite
import SessionJournal

extension Connection {
    /// Makes what of the secret is not there yet.
    mutating func makeSecret() throws {
        let random = JournalSecret.random()
        for (name, value) in [("key", random.key), ("generation", random.generation)]
        where try secret(name) == nil {
            try execute("INSERT INTO secrets (name, value) VALUES (?, ?)", [.text(name), .blob(value)])
        }
    }

    /// Names the logs of sessions that are not kept yet otherwise than before.
    mutating func renewGeneration() throws {
        try execute("DELETE FROM secrets WHERE name = 'generation'")
        try makeSecret()
    }

    mutating func secret() throws -> JournalSecret {
        guard let key = try secret("key"), let generation = try secret("generation"), key.count == 32 else {
            throw StoreError(.unavailable, "The journal's secret is damaged.")
        }
        return JournalSecret(key: key, generation: generation)
    }

    private mutating func secret(_ name: String) throws -> [UInt8]? {
        try first("SELECT value FROM secrets WHERE name = ?", [.text(name)]) { row in try row.blob(0) }
    }
}
