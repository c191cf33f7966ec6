import SQLiteJournal

extension ControlCommand {
    /// `backup PATH`: copies the journal while it goes on working. The server writes the file, as its own user.
    static func backup(of journal: SQLiteJournal) -> ControlCommand {
        ControlCommand("backup") { path in
            guard path.hasPrefix("/") else {
                return .failure(ControlFailure("'\(path)' is no absolute path; the server's folder is another one."))
            }
            do {
                try await journal.backup(to: path)
                return .success(path)
            } catch {
                return .failure(ControlFailure("\(error)"))
            }
        }
    }
}
