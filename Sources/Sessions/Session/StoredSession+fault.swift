import EventStream
import MVI
import SessionJournal
import WireJSON

/// Whether what a journal gave can be what a session appended: a disk or a person may have changed it. What is not is
/// never used, so that a damaged row hurts its own session and no other.
extension StoredSession {
    /// No log is so long: at a million turns a second it would take 140,000 years. Below it no number overflows.
    private static let longestLog: UInt64 = 1 << 62

    /// More than a session's clients could sign in.
    private static let highestCredential = 1 << 53

    /// What cannot be; nil if all can.
    var fault: StoreError? {
        damage.map { .damaged("of the session \(record.id) are damaged: \($0)") }
    }

    private var damage: String? {
        let last = head.number
        if last > Self.longestLog { return "the head has the number \(last)" }
        if !Epoch.isValid(record.epoch) { return "the epoch is none" }
        if accessChanges > Self.longestLog { return "access was changed \(accessChanges) times" }
        // 0 is that of clients without a credential.
        for credential in credentials where !(1...Self.highestCredential ~= credential.number) {
            return "a credential has the number \(credential.number)"
        }
        if recentHeads.contains(where: { $0.number > last }) { return "an earlier head has a higher number" }
        for store in stores + changed.map(\.summary)
        where max(store.number, store.version, store.made, store.replaced) > last {
            return "the store \(store.feature) has a higher number than the head"
        }
        for store in changed where !store.view.isOneLineOfJSON {
            return "the view state of \(store.summary.feature) is no JSON"
        }
        for label in labels {
            guard 1...max(1, last) ~= label.id.number, UInt32(exactly: label.id.index) != nil,
                label.version <= last
            else { return "a label has the place \(label.id.number).\(label.id.index)" }
            guard label.json.isOneLineOfJSON else { return "a label is no JSON" }
        }
        for receipt in receipts {
            guard receipt.number <= last else { return "a receipt has the number \(receipt.number)" }
            if case .sequence(let number, _) = receipt.key, number > UInt64(Int64.max) {
                return "a receipt is for the number \(number)"
            }
            switch receipt.outcome {
            case .ran(let version): if version > last { return "a receipt has the version \(version)" }
            case .refused(let status, let body):
                guard 400..<600 ~= status, body.isOneLineOfJSON else { return "a receipt has the status \(status)" }
            }
        }
        return nil
    }
}

extension StoreError {
    static func damaged(_ what: String) -> StoreError {
        StoreError(.unavailable, "The journal's rows \(what).", retryAfter: .seconds(60))
    }
}

extension [UInt8] {
    /// Whether these are JSON that can stand in one line of a stream.
    var isOneLineOfJSON: Bool {
        !contains { $0 == 0x0A || $0 == 0x0D } && (try? WireJSON.decode(JSONText.self, from: self)) != nil
    }
}
