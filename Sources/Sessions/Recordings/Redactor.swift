import MVI
import SessionJournal
import WireJSON

/// Rewrites kept states and recordings of a feature's present schema version with pseudonyms in the place of secrets.
@usableFromInline
package final class Redactor: Sendable {
    private typealias Rewrite = @Sendable (_ json: [UInt8], FeatureID, Pseudonyms) -> [UInt8]?

    /// Replaces the texts of errors, which may contain values.
    static let text = "redacted"

    private let version: Int
    private let state: Rewrite
    private let recording: Rewrite

    /// - Parameter make: returns the feature of the instance; nil if there is none. Its initial state has the members
    ///   that an older state of the same version lacks.
    init<F: Feature>(_ make: @escaping @Sendable (FeatureID) throws -> F?) {
        @Sendable func initial(_ id: FeatureID) -> [UInt8]? {
            guard let feature = try? make(id) else { return nil }
            return try? WireJSON.encodeStored(feature.initialState).bytes
        }
        version = F.schemaVersion
        state = { json, id, pseudonyms in
            guard let filling = initial(id),
                let state = try? WireJSON.decode(F.State.self, from: json, filling: filling)
            else { return nil }
            return try? WireJSON.encodeStored(state, userInfo: pseudonyms.writing).bytes
        }
        recording = { json, id, pseudonyms in
            guard let type = TurnRecording<F>.self as? any Decodable.Type, let initial = initial(id) else { return nil }
            let filling = Array("{\"state\":".utf8) + initial + Array("}".utf8)
            // One of an earlier release may have values; one of this release has pseudonyms.
            let decoded: Any? = try? WireJSON.decode(
                type, from: json, filling: filling, userInfo: SecretCoding.reading)
            guard var recording = decoded as? TurnRecording<F>,
                recording.facts.schemaVersion ?? F.schemaVersion == F.schemaVersion
            else { return nil }
            recording.facts.subject = recording.facts.subject.flatMap { pseudonyms.subject($0) }
            recording.facts.failure = recording.facts.failure.map { _ in Self.text }
            recording.facts.refusal = recording.facts.refusal.map { _ in Self.text }
            guard let encodable = recording as? any Encodable else { return nil }
            return try? WireJSON.encodeStored(encodable, userInfo: pseudonyms.writing).bytes
        }
    }

    /// Returns nil for a state of another schema version, or one that cannot be read.
    fileprivate func redacted(_ store: StoredStore, _ pseudonyms: Pseudonyms) -> StoredStore? {
        guard store.schemaVersion == version, let state = state(store.state, store.summary.feature, pseudonyms) else {
            return nil
        }
        var store = store
        (store.state, store.view, store.viewIntent) = (state, Array("null".utf8), nil)
        return store
    }

    fileprivate func redacted(_ turn: RecordedTurn, _ pseudonyms: Pseudonyms) -> RecordedTurn? {
        guard let recording = recording(turn.recording, turn.feature, pseudonyms) else { return nil }
        var turn = turn
        turn.recording = recording
        return turn
    }
}

extension Pseudonyms {
    fileprivate func subject(_ subject: Subject) -> Subject? {
        pseudonym(of: subject).map { Subject(issuer: "", id: $0) }
    }
}

extension SessionExport {
    /// Returns an export without secrets and the subject, for replays, and the number of stores and turns that are left
    /// out since they cannot be read by the registry's features. Labels, receipts, credentials and reminders are not
    /// part of it.
    package func redacted(
        by features: FeatureRegistry, _ pseudonyms: Pseudonyms
    ) -> (export: SessionExport, unreadable: Int) {
        let stored = whole
        var export = stored
        export.session.record.subject = session.record.subject.flatMap { pseudonyms.subject($0) }
        (export.session.labels, export.session.receipts) = ([], [])
        (export.session.credentials, export.session.reminders) = ([], [])
        export.setAside = []
        export.stores = stores.compactMap { store in
            features.definition(for: store.summary.feature)?.replayer.redactor.redacted(store, pseudonyms)
        }
        export.turns = stored.turns.compactMap { turn in
            features.definition(for: turn.feature)?.replayer.redactor.redacted(turn, pseudonyms)
        }
        return (export, stores.count - export.stores.count + stored.turns.count - export.turns.count)
    }
}
