/// What sessions are kept in.
public enum JournalKind: String, Sendable, CaseIterable {
    /// A file in the data folder: sessions outlive the process.
    case sqlite
    /// Memory: sessions end with the process.
    case memory
}

extension SettingFormat where Value == JournalKind {
    package static var journal: SettingFormat {
        SettingFormat(
            "one of \(JournalKind.allCases.map(\.rawValue).joined(separator: ", "))",
            parse: { JournalKind(rawValue: $0) }, print: { $0.rawValue })
    }
}
