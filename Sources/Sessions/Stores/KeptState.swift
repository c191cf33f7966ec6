import MVI
import WireJSON

/// A stored state, as the present feature reads it.
@usableFromInline
package enum KeptState<State> {
    /// The state, and JSON Pointers of members that the next commit would lose.
    case state(State, lost: [String])
    /// A newer version of the feature wrote it.
    case newer
    /// The reason why it cannot be read.
    case unreadable(String)
}

extension KeptState {
    /// Migrates a state to the present schema version of its feature (rule 51).
    ///
    /// - Parameters:
    ///   - json: the stored state.
    ///   - version: the schema version of the stored state.
    ///   - initial: provides members that stored states of the present version lack.
    @usableFromInline
    package static func read<F: Feature>(
        _ json: [UInt8], version: Int, of feature: F.Type, initial: State,
        userInfo: [CodingUserInfoKey: any Sendable] = [:]
    ) -> KeptState where F.State == State {
        if version > F.schemaVersion { return .newer }
        do {
            if version == F.schemaVersion {
                let filling = try WireJSON.encodeStored(initial).bytes
                let (state, lost) = try WireJSON.decodeStored(
                    State.self, from: json, filling: filling, userInfo: userInfo)
                return .state(state, lost: lost)
            }
            guard let migration = F.migrations.first(where: { $0.from == version }) else {
                return .unreadable(
                    "it was written under the schema version \(version), and there is no migration from that to "
                        + "\(F.schemaVersion)")
            }
            let stored = StoredJSON(bytes: json, userInfo)
            let state = try migration.migrate(stored)
            return .state(state, lost: stored.lost)
        } catch {
            return .unreadable("\(error)")
        }
    }
}

private final class StoredJSON: StateReader {
    private let bytes: [UInt8]
    private let userInfo: [CodingUserInfoKey: any Sendable]
    /// Members that the migration did not read. The migration decides about the others.
    private(set) var lost: [String] = []

    init(bytes: [UInt8], _ userInfo: [CodingUserInfoKey: any Sendable]) {
        (self.bytes, self.userInfo) = (bytes, userInfo)
    }

    func read<T: Decodable>(_ type: T.Type) throws -> T {
        let (value, unread) = try WireJSON.decodeStored(reading: type, from: bytes, userInfo: userInfo)
        lost = unread
        return value
    }
}
