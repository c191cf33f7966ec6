import MVI
import SQLiteJournal
import SessionJournal

/// A session's rows in an input, one per line, with columns separated by `|`:
///
///     epoch|a5                                     number and nonce of the head, and of earlier ones:
///     head|5|77                                    earlier|4|76
///     store|desk|5|5|1|0|1||{"count":5}            number, version, made, replaced, schema, intent, state and view
///     label|4|0|desk|4|i4|9223372036854775807|0|{"type":"said","text":"hello"}
///     key|k1|desk|3|0|3                            a receipt that ran: number, time, version
///     seq|7|e|5|0|422|{}                           one that was refused: number, time, status, body
///     lost|1 desk=3!
///     subject|issuer|id
///     credential|1|bearer|3|0||{"subject":"id"}    number, kind, token's first byte, time, end if revoked, principal
///     reminder|desk|late|5|4|{"type":"said"}       feature, id, time, number, action
///
/// Other lines are ignored. Rows are unique by the same keys as in the tables.
struct Rows {
    var record = SessionRecord(
        id: "id", tokenHash: TokenHash([UInt8](repeating: 0, count: 32)), epoch: "a5", credential: .bearer,
        created: World.now, lastSeen: World.now)
    var heads: [SessionHead] = []
    var stores: [StoredStore] = []
    var labels: [StoredLabel] = []
    var receipts: [StoredReceipt] = []
    var credentials: [StoredCredential] = []
    var reminders: [StoredReminder] = []
    var lost = LostLabels()

    mutating func read(_ line: Substring) {
        var columns = Columns(line)
        switch columns.text() {
        case "epoch": record.epoch = columns.text()
        case "seen": record.lastSeen = .nanoseconds(columns.integer())
        case "head": heads.append(columns.head())
        case "earlier": heads.insert(columns.head(), at: 0)
        case "subject": record.subject = Subject(issuer: columns.text(), id: columns.rest())
        case "credential":
            guard let credential = columns.credential(),
                !credentials.contains(where: { $0.token == credential.token || $0.number == credential.number })
            else { return }
            credentials.append(credential)
            credentials.sort { $0.number < $1.number }
        case "reminder":
            guard let reminder = columns.reminder(),
                !reminders.contains(where: { $0.feature == reminder.feature && $0.id == reminder.id })
            else { return }
            reminders.append(reminder)
            reminders.sort { $0.due < $1.due }
        case "lost": lost = (try? LostLabels(text: columns.rest())) ?? lost
        case "store":
            guard let store = columns.store(), !stores.contains(where: { $0.summary.feature == store.summary.feature })
            else { return }
            stores.append(store)
        case "label":
            guard let label = columns.label(), !labels.contains(where: { $0.id == label.id }) else { return }
            labels.append(label)
            labels.sort { Self.isOrdered($0.id, $1.id) }
        case let kind where kind == "key" || kind == "seq":
            guard let receipt = columns.receipt(kind), !receipts.contains(where: { $0.key == receipt.key }) else {
                return
            }
            receipts.append(receipt)
            receipts.sort { Int64(bitPattern: $0.number) < Int64(bitPattern: $1.number) }
        default: break
        }
    }

    /// Compares signed numbers, as the database does.
    private static func isOrdered(_ left: LabelID, _ right: LabelID) -> Bool {
        (Int64(bitPattern: left.number), left.index) < (Int64(bitPattern: right.number), right.index)
    }

    /// Returns the session as a journal does; `since` omits older rows.
    func session(_ token: TokenHash, since head: SessionHead? = nil) -> StoredSession {
        var record = record
        record.tokenHash = token
        let least = head.map { Int64(clamping: $0.number) } ?? -1
        let newest = heads.last ?? .empty
        return StoredSession(
            key: SessionKey(1), record: record,
            recentHeads: head == nil || heads.isEmpty ? [newest] : heads.suffix(SessionHead.remembered),
            stores: stores.map(\.summary),
            changed: head.map { head in stores.filter { $0.summary.number > head.number } } ?? [],
            labels: labels.filter { Int64(bitPattern: $0.id.number) > least }, lostLabels: lost,
            receipts: receipts.filter { Int64(bitPattern: $0.number) > least }, credentials: credentials,
            reminders: reminders)
    }
}

/// The columns of a line, read one after the other; an invalid number is 0.
private struct Columns {
    private var left: Substring?

    init(_ line: Substring) { left = line }

    mutating func text() -> String {
        guard let line = left else { return "" }
        let end = line.utf8.firstIndex(of: UInt8(ascii: "|"))
        left = end.map { line[line.utf8.index(after: $0)...] }
        return String(line[..<(end ?? line.endIndex)])
    }

    mutating func rest() -> String {
        defer { left = nil }
        return String(left ?? "")
    }

    mutating func integer() -> Int64 { Int64(text()) ?? 0 }
    mutating func bits() -> UInt64 { UInt64(bitPattern: integer()) }

    mutating func head() -> SessionHead { SessionHead(number: bits(), nonce: bits()) }

    mutating func store() -> StoredStore? {
        guard let feature = FeatureID(text()) else { return nil }
        let summary = StoreSummary(feature: feature, number: bits(), version: bits(), made: bits(), replaced: bits())
        let (schema, intent) = (Int(integer()), text())
        let state = rest().utf8.split(separator: UInt8(ascii: "\t"), maxSplits: 1).map { Array($0) }
        return StoredStore(
            summary: summary, schemaVersion: schema, state: state.first ?? [], view: state.last ?? [],
            viewIntent: intent.isEmpty ? nil : intent)
    }

    mutating func label() -> StoredLabel? {
        let id = LabelID(number: bits(), index: Int(integer()))
        guard let feature = FeatureID(text()) else { return nil }
        let (version, intent, expiry, isWritten) = (bits(), text(), integer(), integer() != 0)
        return StoredLabel(
            id: id, feature: feature, version: version, intent: intent.isEmpty ? nil : intent,
            json: Array(rest().utf8), expiry: .nanoseconds(expiry), isWritten: isWritten)
    }

    mutating func credential() -> StoredCredential? {
        let number = Int(integer())
        guard let kind = SessionCredential(rawValue: text()) else { return nil }
        let token = TokenHash([UInt8(truncatingIfNeeded: integer())] + [UInt8](repeating: 1, count: 31))
        let (made, end) = (integer(), text())
        return StoredCredential(
            token: token, kind: kind, number: number, principal: Array(rest().utf8), made: .nanoseconds(made),
            revokedUntil: Int64(end).map { .nanoseconds($0) })
    }

    mutating func reminder() -> StoredReminder? {
        guard let feature = FeatureID(text()) else { return nil }
        let (id, due, number) = (text(), integer(), bits())
        return StoredReminder(
            feature: feature, id: id, due: .nanoseconds(due), number: number, action: Array(rest().utf8))
    }

    mutating func receipt(_ kind: String) -> StoredReceipt? {
        let (name, scope, number, made, outcome) = (text(), text(), bits(), integer(), integer())
        let body = Array(rest().utf8)
        let key: ReceiptKey
        if kind == "seq" {
            key = .sequence(UInt64(bitPattern: Int64(name) ?? 0), epoch: scope)
        } else {
            guard let feature = FeatureID(scope) else { return nil }
            key = .key(name, feature: feature)
        }
        return StoredReceipt(
            key: key, number: number, bodyHash: [UInt8](repeating: 0, count: 32), intent: "i\(number)",
            outcome: body.isEmpty
                ? .ran(version: UInt64(bitPattern: outcome)) : .refused(status: Int(outcome), body: body),
            made: .nanoseconds(made))
    }
}
