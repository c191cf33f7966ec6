/// A milestone, kept for streams that reconnect.
struct Label {
    let feature: String
    let version: Int
    let intent: String
    let sequence: Int
    let count: Int

    /// `cursor`: the cursor of its turn, or the head's if it is the last event of its batch.
    func append(to events: inout String, cursor: Cursor, replayed: Bool) {
        events += "id: \(cursor)\nevent: label\ndata: {\"feature\":\"\(feature)\",\"version\":\(version)"
        events += ",\"intent\":\"\(intent)\",\"id\":\"\(cursor.epoch).\(sequence).0\",\"replay\":\(replayed)"
        events += ",\"label\":{\"type\":\"milestone\",\"count\":\(count)}}\n\n"
    }
}
