import MVI
import SQLite
import SessionJournal

extension StoreError {
    static let inDoubt = StoreError(
        .unavailable, "The journal's disk failed while this session was written; the outcome is not known yet.")

    /// The error of the database at `path`, with a text for operators.
    init(_ error: any Error, at path: String) {
        switch error {
        case let error as StoreError: self = error
        case let error as JournalOpenError: self.init(.unavailable, error.description)
        case let error as SQLiteError: self.init(error.storeCode, Self.sentence(error, path))
        default: self.init(.unavailable, "The journal \(path) cannot be used: \(error)")
        }
    }

    private static func sentence(_ error: SQLiteError, _ path: String) -> String {
        let reason = "\(error.message) (SQLite \(error.extendedCode))"
        return switch error.code {
        case .full: "The disk of the journal \(path) is full: \(reason). Free some space on it."
        case .readOnly:
            "The journal \(path) is not writable: \(reason). Check the modes of the file and its folder."
        case .cannotOpen: "The journal \(path) cannot be opened: \(reason). Check its folder, owner and modes."
        case .corrupt, .notADatabase:
            "The journal \(path) is damaged: \(reason). It is unchanged; replace it with a backup."
        case .busy, .locked: "Another program has locked the journal \(path): \(reason)."
        case .inputOutput: "The disk of the journal \(path) fails: \(reason)."
        case .tooBig, .constraint, .mismatch: "The journal cannot store this: \(reason)."
        default: "The journal \(path) cannot be used: \(error)"
        }
    }
}

extension SQLiteError {
    var storeCode: StoreError.Code {
        switch code {
        case .full: .full
        case .tooBig, .constraint, .mismatch: .invalid
        default: .unavailable
        }
    }

    /// True if the whole disk or file fails, so that other operations would fail too.
    var isOfMedium: Bool {
        switch code {
        case .full, .readOnly, .cannotOpen, .notADatabase, .busy, .locked: true
        case .inputOutput: !isDamage
        default: false
        }
    }

    /// True if a `COMMIT` that failed with this code certainly left no commit in the log that recovery could find.
    var leavesNothingCommitted: Bool { [.full, .readOnly, .busy, .locked, .constraint].contains(code) }
}
