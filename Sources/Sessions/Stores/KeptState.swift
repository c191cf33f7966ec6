import MVI
import WireJSON

/// A state as it was kept, read by the present feature.
@usableFromInline
package enum KeptState<State> {
    /// With JSON Pointers of members that would be lost with the next state that is kept.
    case state(State, lost: [String])
    /// A newer version of the feature wrote it.
    case newer
    /// Why it cannot be read.
    case unreadable(String)
}

extension KeptState {
    /// Brings a state to the present schema version of its feature (rule 51).
    ///
    /// - Parameters:
    ///   - json: the state, as it was kept.
    ///   - version: the schema version under which it was kept.
    ///   - initial: has the members that states of the present version were kept without.
    @usableFromInline
    package static func read<F: Feature>(
        _ json: [UInt8], version: Int, of feature: F.Type, initial: State
    ) -> KeptState where F.State == State {
        if version > F.schemaVersion { return .newer }
        do {
            if version == F.schemaVersion {
                let filling = try WireJSON.encodeStored(initial).bytes
                let (state, lost) = try WireJSON.decodeStored(State.self, from: json, filling: filling)
                return .state(state, lost: lost)
            }
            guard let migration = F.migrations.first(where: { $0.from == version }) else {
                return .unreadable(
                    "it was written under the schema version \(version), and there is no migration from that to "
                        + "\(F.schemaVersion)")
            }
            let stored = StoredJSON(bytes: json)
            let state = try migration.migrate(stored)
            return .state(state, lost: stored.lost)
        } catch {
            return .unreadable("\(error)")
        }
    }
}

private final class StoredJSON: StateReader {
    private let bytes: [UInt8]
    /// Members that the migration did not read: what becomes of the others its author says.
    private(set) var lost: [String] = []

    init(bytes: [UInt8]) { self.bytes = bytes }

    func read<T: Decodable>(_ type: T.Type) throws -> T {
        let (value, unread) = try WireJSON.decodeStored(reading: type, from: bytes)
        lost = unread
        return value
    }
}
