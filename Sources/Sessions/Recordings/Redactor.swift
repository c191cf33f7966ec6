import MVI
import SessionJournal
import WireJSON

/// Rewrites kept states and recordings of a feature with pseudonyms in the place of secrets.
@usableFromInline
package final class Redactor: Sendable {
    private let state: @Sendable (_ json: [UInt8], _ version: Int, Pseudonyms) -> [UInt8]?
    private let recording: @Sendable (_ json: [UInt8], Pseudonyms) -> [UInt8]?

    @usableFromInline
    init<F: Feature>(_ feature: F.Type) {
        state = { json, version, pseudonyms in
            guard version == F.schemaVersion, let state = try? WireJSON.decode(F.State.self, from: json) else {
                return nil
            }
            return try? pseudonyms.writing { try WireJSON.encodeStored(state).bytes }
        }
        recording = { json, pseudonyms in
            guard let type = TurnRecording<F>.self as? any Decodable.Type else { return nil }
            // One of an earlier version may have values; one of this version has pseudonyms.
            let decoded: Any? = SecretCoding.$reading.withValue(SecretCount()) {
                try? WireJSON.decode(type, from: json)
            }
            guard var recording = decoded as? TurnRecording<F> else { return nil }
            recording.facts.subject = recording.facts.subject.flatMap { pseudonyms.subject($0) }
            // The texts of errors may contain values.
            recording.facts.failure = recording.facts.failure.map { _ in "redacted" }
            guard let encodable = recording as? any Encodable else { return nil }
            return try? pseudonyms.writing { try WireJSON.encodeStored(encodable).bytes }
        }
    }

    /// Returns nil for a state of another schema version, which cannot be read.
    fileprivate func redacted(_ store: StoredStore, _ pseudonyms: Pseudonyms) -> StoredStore? {
        guard let state = state(store.state, store.schemaVersion, pseudonyms) else { return nil }
        var store = store
        (store.state, store.view, store.viewIntent) = (state, Array("null".utf8), nil)
        return store
    }

    fileprivate func redacted(_ turn: RecordedTurn, _ pseudonyms: Pseudonyms) -> RecordedTurn? {
        guard let recording = recording(turn.recording, pseudonyms) else { return nil }
        var turn = turn
        turn.recording = recording
        return turn
    }
}

extension Pseudonyms {
    fileprivate func subject(_ subject: Subject) -> Subject? {
        (try? pseudonym(of: subject)).map { Subject(issuer: "", id: $0) }
    }
}

extension SessionExport {
    /// Returns an export without secrets and the subject, for replays: stores and recorded turns of features of the
    /// registry, as far as they can be read. Labels, receipts, credentials and reminders are left out.
    package func redacted(by features: FeatureRegistry, _ pseudonyms: Pseudonyms) -> SessionExport {
        var export = self
        export.session.record.subject = session.record.subject.flatMap { pseudonyms.subject($0) }
        (export.session.labels, export.session.receipts) = ([], [])
        (export.session.credentials, export.session.reminders) = ([], [])
        export.setAside = []
        export.stores = stores.compactMap { store in
            features.definition(for: store.summary.feature)?.redactor.redacted(store, pseudonyms)
        }
        export.turns = turns.compactMap { turn in
            features.definition(for: turn.feature)?.redactor.redacted(turn, pseudonyms)
        }
        return export
    }
}
