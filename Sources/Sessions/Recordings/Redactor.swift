import Locking
import MVI
import SessionJournal
import WireJSON

/// Rewrites kept states and recordings of a feature's present schema version with pseudonyms in the place of secrets.
@usableFromInline
package final class Redactor: Sendable {
    private typealias Rewrite = @Sendable (_ json: [UInt8], FeatureID, Redaction) -> [UInt8]?

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
        state = { json, id, redaction in
            guard let filling = initial(id),
                let state = try? WireJSON.decode(F.State.self, from: json, filling: filling)
            else { return nil }
            return try? WireJSON.encodeStored(state, userInfo: redaction.pseudonyms.writing).bytes
        }
        recording = { json, id, redaction in
            guard let type = TurnRecording<F>.self as? any Decodable.Type, let initial = initial(id) else { return nil }
            let filling = Array("{\"state\":".utf8) + initial + Array("}".utf8)
            // One of an earlier release may have values; one of this release has pseudonyms.
            let decoded: Any? = try? WireJSON.decode(
                type, from: redaction.pseudonyms.renamed(json), filling: filling, userInfo: SecretCoding.reading)
            guard var recording = decoded as? TurnRecording<F>,
                recording.facts.schemaVersion ?? F.schemaVersion == F.schemaVersion
            else { return nil }
            recording.intent = redaction.intent(recording.intent)
            recording.facts.reads = recording.facts.reads.map {
                TurnFacts.Read(feature: redaction.feature($0.feature), number: $0.number)
            }
            recording.facts.sends = recording.facts.sends.map { redaction.feature($0) }
            recording.facts.tells = recording.facts.tells.map { redaction.feature($0) }
            recording.facts.toldBy = recording.facts.toldBy.map { _ in "" }
            recording.facts.directed = recording.facts.directed.map {
                TurnFacts.Directed(label: $0.label, to: $0.to, name: nil)
            }
            recording.facts.subject = recording.facts.subject.flatMap { redaction.pseudonyms.subject($0) }
            // Its id is one in this space only; states may have it.
            recording.facts.sender = recording.facts.sender.map { Sender(id: $0.id, session: "") }
            recording.facts.failure = recording.facts.failure.map { _ in Self.text }
            recording.facts.refusal = recording.facts.refusal.map { _ in Self.text }
            guard let encodable = recording as? any Encodable else { return nil }
            return try? WireJSON.encodeStored(encodable, userInfo: redaction.pseudonyms.writing).bytes
        }
    }

    /// Returns nil for a state of another schema version, or one that cannot be read.
    fileprivate func redacted(_ store: StoredStore, _ redaction: Redaction) -> StoredStore? {
        guard store.schemaVersion == version, let state = state(store.state, store.summary.feature, redaction) else {
            return nil
        }
        var store = store
        (store.state, store.view, store.viewIntent) = (state, Array("null".utf8), nil)
        store.summary.feature = redaction.feature(store.summary.feature)
        return store
    }

    fileprivate func redacted(_ turn: RecordedTurn, _ redaction: Redaction) -> RecordedTurn? {
        guard let recording = recording(turn.recording, turn.feature, redaction) else { return nil }
        var turn = turn
        (turn.recording, turn.feature) = (recording, redaction.feature(turn.feature))
        return turn
    }
}

/// The replacements for the data of one exported session. Pseudonyms have a key of their own in each, so that two sessions of
/// a person are not recognized; ids of intents and keys of features, which clients choose, are numbers.
private final class Redaction: Sendable {
    let pseudonyms = Pseudonyms()
    private let numbers = Lock<(intents: [String: Int], keys: [String: [String: Int]])>(([:], [:]))

    /// Keeps the server's own ids.
    func intent(_ id: String) -> String {
        if id.hasPrefix("‹") { return id }
        return numbers.withLock { numbers in
            let number = numbers.intents[id] ?? numbers.intents.count + 1
            numbers.intents[id] = number
            return "\(number)"
        }
    }

    func feature(_ text: String) -> String { FeatureID(text).map { feature($0).text } ?? text }

    func feature(_ id: FeatureID) -> FeatureID {
        guard let key = id.key else { return id }
        let number = numbers.withLock { numbers in
            let number = numbers.keys[id.name]?[key] ?? (numbers.keys[id.name]?.count ?? 0) + 1
            numbers.keys[id.name, default: [:]][key] = number
            return number
        }
        return FeatureID("\(id.name):\(number)") ?? id
    }
}

extension Pseudonyms {
    fileprivate func subject(_ subject: Subject) -> Subject? {
        pseudonym(of: subject).map { Subject(issuer: "", id: $0) }
    }
}

extension SessionExport {
    /// Returns an export without secrets, the subject, and the ids and keys that clients know or chose, for replays; and
    /// the number of stores and turns that are left out since they cannot be read by the registry's features. Labels,
    /// receipts, credentials and reminders are not part of it.
    ///
    /// - Parameter number: the session's id in the export.
    package func redacted(
        by features: FeatureRegistry, number: Int = 1
    ) -> (export: SessionExport, unreadable: Int) {
        let stored = whole
        let redaction = Redaction()
        var export = stored
        (export.session.record.id, export.session.record.epoch) = ("\(number)", "\(number)")
        export.session.record.subject = session.record.subject.flatMap { redaction.pseudonyms.subject($0) }
        export.session.record.space = session.record.space.flatMap { SpaceName(redaction.feature($0.text)) }
        (export.session.labels, export.session.receipts) = ([], [])
        (export.session.credentials, export.session.reminders) = ([], [])
        export.session.lostLabels = LostLabels()
        export.setAside = []
        export.stores = stores.compactMap { store in
            features.definition(for: store.summary.feature)?.replayer.redactor.redacted(store, redaction)
        }
        export.turns = stored.turns.compactMap { turn in
            features.definition(for: turn.feature)?.replayer.redactor.redacted(turn, redaction)
        }
        return (export, stores.count - export.stores.count + stored.turns.count - export.turns.count)
    }
}
