extension JournalBatch {
    /// The approximate number of bytes that the batch writes.
    package var bytes: Int {
        var bytes = 200 + receipts.count * 200
        for store in stores { bytes += 200 + (store.state?.count ?? 0) + (store.view?.count ?? 0) }
        for label in labels { bytes += 100 + label.json.count }
        for case .refused(_, let body) in receipts.lazy.map(\.outcome) { bytes += body.count }
        for case .set(let reminder) in reminders { bytes += 200 + reminder.action.count }
        return bytes
    }
}
