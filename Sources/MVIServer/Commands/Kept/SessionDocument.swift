import MVI
import SessionJournal
import Sessions
import WireJSON

/// A session with all its stored data as one JSON document, in the format `mvi-session/1` of `docs/fixtures.md`, which
/// `Fixture` of `MVITesting` reads.
///
/// It gives no access to the session: it has no hashes of tokens, and of users only their subject.
package enum SessionDocument {
    /// The format's name, the document's member `format`.
    package static let format = "mvi-session/1"

    /// Returns the document in UTF-8, with each element of an array on its own line and a line end.
    package static func write(_ stored: SessionExport) -> [UInt8] {
        let export = stored.whole
        var document = JSONObject()
        document.add("format", format)
        document.add("session", json: session(export.session))
        document.add(
            "stores", lines: export.stores.sorted { $0.summary.feature.text < $1.summary.feature.text }.map(store))
        document.add("labels", lines: export.session.labels.map(label))
        document.add("receipts", lines: export.session.receipts.map(receipt))
        document.add("credentials", lines: export.session.credentials.map(credential))
        document.add("reminders", lines: export.session.reminders.map(reminder))
        document.add("turns", lines: export.turns.map(turn))
        document.add("setAside", lines: export.setAside.map(setAside))
        return document.close() + [UInt8(ascii: "\n")]
    }

    /// Returns the document as one line with a line end.
    package static func line(_ export: SessionExport) -> [UInt8] {
        // Strings have no line ends: they are escaped.
        write(export).filter { $0 != UInt8(ascii: "\n") } + [UInt8(ascii: "\n")]
    }

    private static func session(_ session: StoredSession) -> [UInt8] {
        var object = JSONObject()
        object.add("id", session.record.id)
        object.add("epoch", session.record.epoch)
        if let space = session.record.space {
            object.add("space", space.text)
        } else {
            object.add("credential", session.record.credential.rawValue)
        }
        if let subject = session.record.subject { object.add("subject", json: self.subject(subject)) }
        object.add("isShared", session.record.isShared)
        object.add(session.record.settings)
        object.add("created", Timestamp(sinceEpoch: session.record.created).description)
        object.add("lastSeen", Timestamp(sinceEpoch: session.record.lastSeen).description)
        object.add("sequence", session.head.number)
        object.add("hasLostLabels", session.lostLabels.hasAny)
        object.add("lostLabels", array: session.lostLabels.dropped.sorted { $0.key.text < $1.key.text }.map(lost))
        return object.close()
    }

    private static func subject(_ subject: Subject) -> [UInt8] {
        var object = JSONObject()
        object.add("issuer", subject.issuer)
        object.add("id", subject.id)
        return object.close()
    }

    private static func credential(_ credential: StoredCredential) -> [UInt8] {
        var object = JSONObject()
        object.add("kind", credential.kind.rawValue)
        object.add("number", credential.number)
        object.add("made", Timestamp(sinceEpoch: credential.made).description)
        if let until = credential.revokedUntil {
            object.add("revokedUntil", Timestamp(sinceEpoch: until).description)
        }
        object.add(credential.settings)
        return object.close()
    }

    private static func reminder(_ reminder: StoredReminder) -> [UInt8] {
        var object = JSONObject()
        object.add("feature", reminder.feature.text)
        object.add("id", reminder.id)
        object.add("due", Timestamp(sinceEpoch: reminder.due).description)
        object.add(kept: reminder.action, as: "action", orHex: "actionHex")
        return object.close()
    }

    private static func store(_ store: StoredStore) -> [UInt8] {
        var object = JSONObject()
        object.add("feature", store.summary.feature.text)
        object.add("schemaVersion", store.schemaVersion)
        object.add("sequence", store.summary.number)
        object.add("version", store.summary.version)
        object.add("madeSequence", store.summary.made)
        object.add(kept: store.state, as: "state", orHex: "stateHex")
        object.add(kept: store.view, as: "view", orHex: "viewHex")
        if let intent = store.viewIntent { object.add("viewIntent", intent) }
        object.add("replacedSequence", store.summary.replaced)
        return object.close()
    }

    private static func lost(_ feature: FeatureID, _ dropped: LostLabels.Dropped) -> [UInt8] {
        var object = JSONObject()
        object.add("feature", feature.text)
        object.add("sequence", dropped.number)
        object.add("isUnheard", dropped.isUnheard)
        return object.close()
    }

    private static func label(_ label: StoredLabel) -> [UInt8] {
        var object = JSONObject()
        object.add("sequence", label.id.number)
        object.add("index", label.id.index)
        object.add("feature", label.feature.text)
        object.add("version", label.version)
        if let intent = label.intent { object.add("intent", intent) }
        object.add(kept: label.json, as: "label", orHex: "labelHex")
        if let to = label.to { object.add("to", to.text) }
        object.add("expiry", Timestamp(sinceEpoch: label.expiry).description)
        object.add("isWritten", label.isWritten)
        return object.close()
    }

    private static func receipt(_ receipt: StoredReceipt) -> [UInt8] {
        var object = JSONObject()
        switch receipt.key {
        case .key(let key, let feature):
            object.add("key", key)
            object.add("feature", feature.text)
        case .sequence(let number, let epoch):
            object.add("number", number)
            object.add("epoch", epoch)
        }
        object.add("sequence", receipt.number)
        object.add("intent", receipt.intent)
        object.add("bodySHA256", hex(receipt.bodyHash))
        switch receipt.outcome {
        case .ran(let version): object.add("version", version)
        case .refused(let status, let body):
            object.add("status", status)
            object.add(kept: body, as: "body", orHex: "bodyHex")
        }
        object.add("made", Timestamp(sinceEpoch: receipt.made).description)
        return object.close()
    }

    private static func turn(_ turn: RecordedTurn) -> [UInt8] {
        var object = JSONObject()
        object.add("sequence", turn.number)
        object.add("feature", turn.feature.text)
        object.add("time", Timestamp(sinceEpoch: turn.time).description)
        object.add(kept: turn.recording, as: "recording", orHex: "recordingHex")
        return object.close()
    }

    private static func setAside(_ state: SetAsideState) -> [UInt8] {
        var object = JSONObject()
        object.add("feature", state.feature.text)
        object.add("schemaVersion", state.schemaVersion)
        object.add("reason", state.reason)
        object.add("time", Timestamp(sinceEpoch: state.time).description)
        object.add(kept: state.state, as: "state", orHex: "stateHex")
        return object.close()
    }

    fileprivate static func hex(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

extension JSONObject {
    /// Adds stored bytes as JSON, unchanged. Bytes that are not JSON or are nested too deeply are added in hexadecimal
    /// digits under another name, so that the document stays readable.
    mutating func add(kept bytes: [UInt8], as name: StaticString, orHex other: StaticString) {
        if (try? WireJSON.decode(JSONText.self, from: bytes, limits: WireLimits(maximumDepth: 512))) != nil {
            add(name, json: bytes)
        } else {
            add(other, SessionDocument.hex(bytes))
        }
    }

    fileprivate mutating func add(_ settings: ClientSettings?) {
        if let locale = settings?.locale { add("locale", locale) }
        if let zone = settings?.timeZone { add("timeZone", zone) }
    }

    /// Adds an array with each element on its own line.
    fileprivate mutating func add(_ name: StaticString, lines elements: [[UInt8]]) {
        add(name, array: elements.map { [UInt8(ascii: "\n")] + $0 })
    }
}
