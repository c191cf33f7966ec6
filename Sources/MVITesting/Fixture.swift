import MVI
import Sessions
import WireJSON

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
    public static let format = "mvi-session/1"

    /// A store of the session at the time of the export.
    public struct StoredState: Decodable, Sendable {
        /// The feature id, such as `counter` or `order-detail:42`.
        public let feature: String
        /// The schema version of the stored `state`.
        public let schemaVersion: Int
        /// The store's version.
        public let version: UInt64
        let state: JSONText
    }

    struct Turn: Decodable, Sendable {
        let sequence: UInt64
        let feature: String
        let recording: JSONText
    }

    private struct Export: Decodable {
        let format: String
        let stores: [StoredState]
        let turns: [Turn]
    }

    private struct Format: Decodable {
        let format: String
    }

    /// The JSON document of the fixture in UTF-8, readable by `init(_:)`.
    public let json: [UInt8]
    /// The session's stores.
    public let stores: [StoredState]
    /// The turns, oldest first.
    let turns: [Turn]

    /// Reads an export (`mvi-session/1`).
    ///
    /// - Throws: ``FixtureError`` if it is not an export.
    public init(_ bytes: [UInt8]) throws(FixtureError) {
        let format = try Self.read(Format.self, bytes).format
        guard format == Self.format else {
            throw FixtureError("The fixture has the format \"\(format)\"; this version reads \"\(Self.format)\".")
        }
        let export = try Self.read(Export.self, bytes)
        json = bytes
        stores = export.stores
        turns = export.turns.sorted { $0.sequence < $1.sequence }
    }

    private static func read<T: Decodable>(_ type: T.Type, _ bytes: [UInt8]) throws(FixtureError) -> T {
        do throws(WireDecodingError) {
            return try WireJSON.decode(type, from: bytes)
        } catch {
            throw FixtureError("The fixture is not an exported session: \(error)")
        }
    }

    /// Returns the state of a store at the time of the export, migrated from an older schema version as a server does.
    ///
    /// - Throws: ``FixtureError`` if the session had no such store or its state cannot be read, because it does not fit
    ///   this feature, is newer, or lacks a migration.
    public func state<F: Feature>(of feature: F, instance: String = F.name) throws(FixtureError) -> F.State {
        guard let stored = stores.first(where: { $0.feature == instance }) else {
            let others = stores.map { "\"\($0.feature)\"" }.joined(separator: ", ")
            throw FixtureError(
                "The fixture has no store of \"\(instance)\". It has: \(others.isEmpty ? "none" : others).")
        }
        return try read(
            stored.state, version: stored.schemaVersion, of: feature, "The state of \"\(instance)\"", sequence: nil)
    }

    /// Reads a state by the rules of a server.
    ///
    /// - Parameter what: the beginning of the error's sentence.
    func read<F: Feature>(
        _ state: JSONText, version: Int, of feature: F, _ what: String, sequence: UInt64?
    ) throws(FixtureError) -> F.State {
        switch KeptState.read(state.bytes, version: version, of: F.self, initial: feature.initialState) {
        case .state(let state, _): return state
        case .newer: throw .newer(F.self, version, what, sequence)
        case .unreadable(let reason) where version == F.schemaVersion:
            throw FixtureError("\(what) does not belong to the feature \"\(F.name)\": \(reason)", sequence: sequence)
        case .unreadable(let reason):
            throw FixtureError(
                "\(what) cannot be read: \(reason). Fix or add the feature's migration from version \(version), or "
                    + "export a session of version \(F.schemaVersion).",
                sequence: sequence)
        }
    }

    func encoded<State: Encodable>(_ state: State) throws(FixtureError) -> [UInt8] {
        do throws(WireEncodingError) {
            return try WireJSON.encodeStored(state).bytes
        } catch {
            throw FixtureError("The feature's initial state cannot be written as JSON: \(error)")
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

    static func newer<F: Feature>(
        _ feature: F.Type, _ version: Int, _ what: String, _ sequence: UInt64? = nil
    ) -> FixtureError {
        FixtureError(
            "\(what) has the schema version \(version), and the feature \"\(F.name)\" has version \(F.schemaVersion): "
                + "a newer build wrote it. Test it with that build, or export a session of this one.",
            sequence: sequence)
    }
}
