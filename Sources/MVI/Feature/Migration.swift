/// The way from a state as it was stored under an older schema version to the present one.
///
/// ```swift
/// static let schemaVersion = 2
/// static let migrations = [Migration(from: 1, StateV1.self) { State(total: $0.count) }]
/// ```
///
/// The old type lists the members that are read. A state with others is reported and set aside as it was, since these are
/// lost: list those that are to go as well. Each older version has a way of its own to the present
/// state; a version without one cannot be read any more, and its stores begin anew.
public struct Migration<State: Codable & Equatable & Sendable>: Sendable {
    /// The schema version of the states that it takes.
    public let from: Int
    private let run: @Sendable (any StateReader) throws -> State

    /// The way from that version. What `migrate` throws, as what cannot be decoded, is reported; the state is set aside
    /// then and the store begins anew.
    public init<Old: Decodable & SendableMetatype>(
        from version: Int, _ old: Old.Type, _ migrate: @escaping @Sendable (Old) throws -> State
    ) {
        from = version
        run = { try migrate($0.read(Old.self)) }
    }

    /// The present state, made of the one that the reader holds.
    package func migrate(_ stored: any StateReader) throws -> State { try run(stored) }

    /// Returns the fault of a feature's schema version or migrations as a sentence; nil if there is none.
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

/// A stored state, before its type is known.
package protocol StateReader {
    /// Reads it as that type; throws if it is not one.
    func read<T: Decodable>(_ type: T.Type) throws -> T
}
