import MVI
import SessionJournal

/// The ids of intents in events. In a space a client's key is shown to that client only, which finds its own intent by it;
/// the ids that the server made are shown to all.
extension SessionCore {
    @inline(__always)
    func shown(_ intent: String?, of feature: FeatureID, to stream: SessionStream) -> String? {
        life == .space ? shownInSpace(intent, of: feature, to: stream) : intent
    }

    private func shownInSpace(_ intent: String?, of feature: FeatureID, to stream: SessionStream) -> String? {
        guard let intent, !IntentID(intent).isServers else { return intent }
        return isOwn(intent, feature, stream) ? intent : nil
    }

    /// True if the stream shows an event of its client's intent next: other streams are sent other bytes.
    @inline(__always)
    func showsOwn(_ index: Int, _ stream: SessionStream) -> Bool {
        life == .space && showsOwnInSpace(index, stream)
    }

    private func showsOwnInSpace(_ index: Int, _ stream: SessionStream) -> Bool {
        func isOwn(_ intent: String?, _ feature: FeatureID) -> Bool {
            guard let intent, !IntentID(intent).isServers else { return false }
            return self.isOwn(intent, feature, stream)
        }
        if streams.all[index].dirty.contains(where: { isOwn(stores[$0.feature]?.intent, $0.feature) }) { return true }
        return (outbox.index(from: streams.all[index].nextLabel)..<outbox.count).contains { next in
            isOwn(outbox.entries[next].label.intent, outbox.entries[next].label.feature)
        }
    }

    /// True if the client has the receipt of the intent. It may have been one to another store of the space.
    private func isOwn(_ intent: String, _ feature: FeatureID, _ stream: SessionStream) -> Bool {
        let key = stream.client.scoped(intent)
        if receipts[.key(key, feature: feature)] != nil { return true }
        return stores.count > 1
            && stores.contains { $0.feature != feature && receipts[.key(key, feature: $0.feature)] != nil }
    }
}
