/// A conversion of states that were stored under an older schema version to the present `State`.
///
/// ```swift
/// static let schemaVersion = 2
/// static let migrations = [Migration(from: 1, StateV1.self) { State(total: $0.count) }]
/// ```
///
/// The old type lists the members to read. A state with other members is reported and a copy is kept, since these
/// members are lost; to drop members silently, list them too. Each older version needs its own migration to the present
/// state. States of versions without one cannot be read, and their stores begin anew.
public struct Migration<State: Codable & Equatable & Sendable>: Sendable {
    /// The schema version of the old states.
    public let from: Int
    private let run: @Sendable (any StateReader) throws -> State

    /// Creates a migration. If `migrate` throws or the state cannot be decoded, the error is reported, a copy of the
    /// state is kept and the store begins anew.
    public init<Old: Decodable & SendableMetatype>(
        from version: Int, _ old: Old.Type, _ migrate: @escaping @Sendable (Old) throws -> State
    ) {
        from = version
        run = { try migrate($0.read(Old.self)) }
    }

    /// Converts a stored state to the present one.
    package func migrate(_ stored: any StateReader) throws -> State { try run(stored) }

    /// Returns a sentence about an invalid schema version or migration of a feature, or nil if they are valid.
    package static func fault<F: Feature>(of feature: F.Type) -> String? where F.State == State {
        let name = "The feature \"\(F.name)\""
        if F.schemaVersion < 1 {
            return "\(name) has the schema version \(F.schemaVersion); the first version is 1."
        }
        var seen: Set<Int> = []
        for migration in F.migrations {
            let from = migration.from
            if from < 1 || from >= F.schemaVersion {
                return "\(name) has a migration from schema version \(from); migrations are from older versions than "
                    + "its own, which is \(F.schemaVersion), and the first version is 1."
            }
            if !seen.insert(from).inserted {
                return
                    "\(name) has two migrations from schema version \(from); each version has one way to the present."
            }
        }
        return nil
    }
}

/// A stored state that is not decoded yet.
package protocol StateReader {
    /// Decodes the state as a type.
    func read<T: Decodable>(_ type: T.Type) throws -> T
}
