import MVI
import SessionJournal

/// Values that checks append.
enum Sample {
    /// The time at which sessions start.
    static let start = Duration.milliseconds(1_790_000_000_123)
    static let later = start + .seconds(60)
    static let muchLater = start + .seconds(3_600)

    static let counter = FeatureID(name: "counter", key: nil)

    static func feature(_ number: Int) -> FeatureID { FeatureID(name: "order-detail", key: "\(number)") }

    /// A new session; its id and token are random unless they are given.
    static func session(
        id: String? = nil, token: TokenHash? = nil, credential: SessionCredential = .bearer,
        created: Duration = start, lastSeen: Duration = start, subject: Subject? = nil, isShared: Bool = false
    ) -> SessionRecord {
        SessionRecord(
            id: id ?? "s\(UInt64.random(in: .min ... .max))", tokenHash: token ?? tokenHash(),
            epoch: "k\(UInt64.random(in: .min ... .max))", credential: credential, created: created, lastSeen: lastSeen,
            subject: subject, isShared: isShared)
    }

    static func name(_ text: String) -> SpaceName {
        guard let name = SpaceName(text) else { preconditionFailure("'\(text)' is not a name of a space") }
        return name
    }

    /// A new space with a random id.
    static func space(_ text: String, created: Duration = start) -> SessionRecord {
        SessionRecord(
            space: name(text), id: "s\(UInt64.random(in: .min ... .max))",
            epoch: "k\(UInt64.random(in: .min ... .max))", created: created)
    }

    static func subject(_ id: String) -> Subject { Subject(issuer: "https://issuer.example", id: id) }

    static func tokenHash() -> TokenHash { TokenHash(randomBytes(32)) }

    /// A receipt of a keyed intent that ran. `Log.batch` sets its number.
    static func receipt(
        _ key: String, feature: FeatureID = counter, version: UInt64 = 1, made: Duration = start
    ) -> StoredReceipt {
        receipt(.key(key, feature: feature), outcome: .ran(version: version), made: made)
    }

    /// A receipt of a numbered intent that ran. `Log.batch` sets its number.
    static func receipt(sequence: UInt64, epoch: String, version: UInt64 = 1) -> StoredReceipt {
        receipt(.sequence(sequence, epoch: epoch), outcome: .ran(version: version))
    }

    static func receipt(_ key: ReceiptKey, outcome: StoredReceipt.Outcome, made: Duration = start) -> StoredReceipt {
        StoredReceipt(
            key: key, number: 0, bodyHash: randomBytes(32), intent: "intent-\(UInt64.random(in: .min ... .max))",
            outcome: outcome, made: made)
    }

    static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    static func randomBytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: .min ... .max) } }
}

extension SessionHead {
    /// A new head.
    static func random(_ number: UInt64) -> SessionHead {
        SessionHead(number: number, nonce: .random(in: .min ... .max))
    }
}

extension StoredCredential {
    /// A credential with a random token by default.
    static func sample(
        _ number: Int, _ kind: SessionCredential = .bearer, token: TokenHash? = nil, name: String = "{}",
        revokedUntil: Duration? = nil
    ) -> StoredCredential {
        StoredCredential(
            token: token ?? Sample.tokenHash(), kind: kind, number: number, principal: Sample.bytes(name),
            made: Sample.start, revokedUntil: revokedUntil)
    }
}

extension StoreChange {
    /// A change whose omitted numbers `Log.batch` sets.
    static func sample(
        _ kind: Kind, _ feature: FeatureID = Sample.counter, state: String? = "{}", view: String? = "[]",
        viewIntent: String? = nil, setsAside: String? = nil
    ) -> StoreChange {
        StoreChange(
            feature: feature, kind: kind, number: 0, version: 0, made: 0, state: state.map(Sample.bytes),
            view: view.map(Sample.bytes), viewIntent: viewIntent, setsAside: setsAside)
    }

    static func made(_ feature: FeatureID = Sample.counter, _ state: String = "{}") -> StoreChange {
        sample(.made, feature, state: state)
    }

    static func changed(_ feature: FeatureID = Sample.counter, _ state: String = "{}") -> StoreChange {
        sample(.changed, feature, state: state)
    }

    static func disposed(_ feature: FeatureID = Sample.counter) -> StoreChange {
        sample(.disposed, feature, state: nil, view: nil)
    }
}

/// A session's log as its writer knows it.
struct Log: Sendable {
    let key: SessionKey
    let record: SessionRecord
    /// The head that the next batch expects.
    var head = SessionHead.empty
    /// The session's first credentials.
    var credentials: [StoredCredential] = []

    /// Returns the next batch: one turn, or the given number, or one for each receipt. Omitted numbers of stores are
    /// the last turn's, those of receipts the turns' from the first on.
    func batch(
        _ stores: StoreChange..., turns: UInt64 = 1, labels: [StoredLabel] = [], receipts: [StoredReceipt] = [],
        reminders: [ReminderChange] = [], time: Duration = Sample.start
    ) -> JournalBatch {
        let last = head.number + max(turns, UInt64(receipts.count))
        var batch = JournalBatch(
            session: key, expecting: head, head: .random(last), time: time, stores: stores, labels: labels,
            receipts: receipts, reminders: reminders)
        for index in stores.indices {
            batch.stores[index].number = last
            batch.stores[index].version = last
            if batch.stores[index].kind == .made { batch.stores[index].made = last }
        }
        for index in receipts.indices { batch.receipts[index].number = head.number + UInt64(index) + 1 }
        return batch
    }

    /// A reminder that the next batch's turn sets.
    func reminder(
        _ id: String, due: Duration = Sample.later, feature: FeatureID = Sample.counter, action: String = "{}"
    ) -> StoredReminder {
        StoredReminder(feature: feature, id: id, due: due, number: head.number + 1, action: Sample.bytes(action))
    }

    /// Labels of the next batch's turn with this index, 1 for the first.
    func labels(_ texts: String..., turn: UInt64 = 1, feature: FeatureID = Sample.counter) -> [StoredLabel] {
        texts.enumerated().map { index, text in
            StoredLabel(
                id: LabelID(number: head.number + turn, index: index), feature: feature, version: 1,
                intent: "i-\(text)", json: Sample.bytes("\"\(text)\""), expiry: Sample.muchLater)
        }
    }
}
