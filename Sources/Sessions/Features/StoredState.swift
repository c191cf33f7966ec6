import MVI
import SessionJournal
import WireJSON

/// States as they are kept: written and read by the feature's own `Codable`.
@usableFromInline
enum StoredState {
    @inlinable
    static func write<State: Codable>(_ state: State) throws(WireEncodingError) -> [UInt8] {
        try WireJSON.encodeStored(state).bytes
    }

    /// A state as it was kept, brought to the present schema version. Throws what is wrong with it, for a person to read.
    @usableFromInline
    static func read<F: Feature>(_ stored: StoredStore, of type: F.Type, initial: F.State) throws -> F.State {
        if stored.schemaVersion == F.schemaVersion {
            // Members that the state did not have when it was kept come from the initial state.
            return try WireJSON.decode(F.State.self, from: stored.state, filling: write(initial))
        }
        guard let migration = F.migrations.first(where: { $0.from == stored.schemaVersion }) else {
            throw NoMigration(from: stored.schemaVersion, to: F.schemaVersion)
        }
        return try migration.migrate(StoredJSON(bytes: stored.state))
    }

    private struct StoredJSON: StateReader {
        let bytes: [UInt8]

        func read<T: Decodable>(_ type: T.Type) throws -> T { try WireJSON.decode(type, from: bytes) }
    }

    private struct NoMigration: Error, CustomStringConvertible {
        let from: Int
        let to: Int

        var description: String {
            from > to
                ? "it was written under the newer schema version \(from); this is \(to)"
                : "it was written under the schema version \(from), and there is no migration from that to \(to)"
        }
    }
}
