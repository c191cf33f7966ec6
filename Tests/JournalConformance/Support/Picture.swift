import SessionJournal

/// Returns everything in an export as lines of text, for readable comparisons.
func pictured(_ export: SessionExport) -> String {
    var lines = pictured(export.session)
    lines += export.stores.map { "store \($0)" }.sorted()
    lines += export.turns.map { "turn \($0)" }
    lines += export.setAside.map { "set aside \($0)" }
    return lines.joined(separator: "\n")
}

private func pictured(_ session: StoredSession) -> [String] {
    var lines = ["\(session.key)", "\(session.record)", "\(session.head)"]
    lines += session.stores.map { "summary \($0)" }.sorted()
    lines += session.labels.map { "label \($0)" }
    lines += session.receipts.map { "receipt \($0)" }
    lines += session.credentials.map { "credential \($0)" }
    lines += session.reminders.map { "reminder \($0)" }
    lines.append("any lost: \(session.lostLabels.hasAny)")
    lines += session.lostLabels.dropped.map { "dropped \($0.key): \($0.value)" }.sorted()
    return lines
}
