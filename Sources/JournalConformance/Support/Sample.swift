import SessionJournal

/// What checks append.
enum Sample {
    /// When sessions start.
    static let start = Duration.milliseconds(1_790_000_000_123)
    static let later = start + .seconds(60)
    static let muchLater = start + .seconds(3_600)

    static let counter = FeatureID(name: "counter", key: nil)

    static func feature(_ number: Int) -> FeatureID { FeatureID(name: "order-detail", key: "\(number)") }

    /// A new session; its id and token are random unless they are given.
    static func session(
        id: String? = nil, token: TokenHash? = nil, credential: SessionCredential = .bearer,
        lastSeen: Duration = start
    ) -> SessionRecord {
        SessionRecord(
            id: id ?? "s\(UInt64.random(in: .min ... .max))", tokenHash: token ?? tokenHash(),
            epoch: "k\(UInt64.random(in: .min ... .max))", credential: credential, created: start, lastSeen: lastSeen)
    }

    static func tokenHash() -> TokenHash { TokenHash((0..<32).map { _ in .random(in: .min ... .max) }) }

    /// A receipt of a keyed intent that ran.
    static func receipt(
        _ key: String, feature: FeatureID = counter, version: UInt64 = 1, made: Duration = start
    ) -> StoredReceipt {
        receipt(.key(key, feature: feature), outcome: .ran(version: version), made: made)
    }

    /// A receipt of a numbered intent that ran.
    static func receipt(number: UInt64, epoch: String, version: UInt64 = 1) -> StoredReceipt {
        receipt(.sequence(number, epoch: epoch), outcome: .ran(version: version))
    }

    static func receipt(
        _ key: ReceiptKey, outcome: StoredReceipt.Outcome, made: Duration = start
    ) -> StoredReceipt {
        StoredReceipt(
            key: key, bodyHash: (0..<32).map { _ in .random(in: .min ... .max) },
            intent: "intent-\(UInt64.random(in: .min ... .max))", outcome: outcome, made: made)
    }

    /// A turn with those labels.
    static func turn(_ labels: String...) -> TurnAppend {
        TurnAppend(
            labels: labels.map { text in
                LabelAppend(version: 1, intent: "i-\(text)", json: bytes("\"\(text)\""), expiry: muchLater)
            })
    }

    static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
}

extension StoreToken {
    /// A new token.
    static func next(_ version: UInt64 = 1) -> StoreToken { .random(version: version) }
}

extension JournalAppend {
    /// One turn, or those that are given, of a store.
    static func turns(
        _ session: SessionKey, _ feature: FeatureID = Sample.counter, from old: StoreToken?, to new: StoreToken,
        state: String? = "{}", view: String? = "[]", viewIntent: String? = nil,
        turns: [TurnAppend] = [TurnAppend(labels: [])], receipts: [StoredReceipt] = [], time: Duration = Sample.start
    ) -> JournalAppend {
        JournalAppend(
            session: session, time: time,
            store: StoreAppend(
                feature: feature, expecting: old, token: new, schemaVersion: 1, state: state.map(Sample.bytes),
                view: view.map(Sample.bytes), viewIntent: viewIntent, marks: StoreMarks(), turns: turns),
            receipts: receipts)
    }

    /// Receipts only.
    static func receipts(_ session: SessionKey, _ receipts: StoredReceipt...) -> JournalAppend {
        JournalAppend(session: session, time: Sample.start, receipts: receipts)
    }
}
