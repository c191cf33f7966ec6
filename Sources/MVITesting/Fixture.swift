import MVI
import Sessions

/// A session with recorded turns, exported by a server or made by a ``TestStore``. A test replays it to check that a
/// feature's reducer still produces the same states.
///
/// ```swift
/// let fixture = try Fixture(Array(Data(contentsOf: url)))
/// let states = try fixture.replay(Counter())
/// #expect(states.last?.count == 42)
/// ```
public struct Fixture: Sendable {
    /// The format of the exports: their `format` member.
    public static let format = RecordedSession.format

    /// A store of the session at the time of the export.
    public struct StoredState: Sendable {
        /// The feature id, such as `counter` or `order-detail:42`.
        public let feature: String
        /// The schema version of the stored `state`.
        public let schemaVersion: Int
        /// The store's version.
        public let version: UInt64
    }

    /// The JSON document of the fixture in UTF-8, readable by `init(_:)`.
    public let json: [UInt8]
    /// The session's stores.
    public var stores: [StoredState] {
        session.stores.map { StoredState(feature: $0.feature, schemaVersion: $0.schemaVersion, version: $0.version) }
    }
    let session: RecordedSession

    /// Reads an export (`mvi-session/1`).
    ///
    /// - Throws: ``FixtureError`` if it is not an export.
    public init(_ bytes: [UInt8]) throws(FixtureError) {
        json = bytes
        do throws(NotRecorded) { session = try RecordedSession(bytes) } catch {
            throw FixtureError("The fixture \(error)")
        }
    }

    /// Returns the state of a store at the time of the export, migrated from an older schema version as a server does.
    ///
    /// - Throws: ``FixtureError`` if the session had no such store or its state cannot be read, because it does not fit
    ///   this feature, is newer, or lacks a migration.
    public func state<F: Feature>(of feature: F, instance: String = F.name) throws(FixtureError) -> F.State {
        guard let stored = session.stores.first(where: { $0.feature == instance }) else {
            let others = stores.map { "\"\($0.feature)\"" }.joined(separator: ", ")
            throw FixtureError(
                "The fixture has no store of \"\(instance)\". It has: \(others.isEmpty ? "none" : others).")
        }
        do throws(UnreadableState) {
            return try Replay.state(stored.state, stored.schemaVersion, feature, "The state of \"\(instance)\"")
        } catch {
            throw FixtureError(error.description)
        }
    }
}

/// The error of a fixture that cannot be read or whose replay differs.
public struct FixtureError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The sequence number of the affected turn; nil if no turn is affected.
    public let sequence: UInt64?
    /// A description, with the difference of states.
    public let description: String

    init(_ description: String, sequence: UInt64? = nil) {
        self.sequence = sequence
        self.description = description
    }
}
