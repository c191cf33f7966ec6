import SQLiteJournal
import SessionJournal

extension ServerProgram {
    /// The folder of `--data`, `MVI_DATA` or the configuration file, which must be there: a command makes none.
    func existingDataFolder() throws -> String {
        let folder = try dataFolder()
        guard FilePath.isFolder(folder) else {
            throw CommandFailure(
                "There is no data folder '\(folder)'. Give the one that the server was given, with --data or MVI_DATA.")
        }
        return folder
    }

    /// The folder that the settings name, which may not be there.
    func dataFolder() throws -> String {
        guard let folder = try settings().server.dataFolder else {
            throw CommandFailure("With --data :memory: nothing is kept. Give the folder that the server was given.")
        }
        return folder
    }

    /// The journal that servers share; nil if the settings name one of this server alone.
    func sharedJournal() throws -> (any SharedJournalMaintenance)? {
        let (settings, command) = try settings()
        guard case .postgres = settings.journal else { return nil }
        guard let storage = command.sharedStorage else {
            throw CommandFailure("--journal names PostgreSQL, which this program was built without: see sharedStorage.")
        }
        do throws(SettingError) {
            return try storage.maintenance(settings)
        } catch {
            throw CommandFailure("\(error)")
        }
    }

    /// The journal that the settings name, to be looked into and changed.
    func journal() throws -> any JournalMaintenance {
        if let shared = try sharedJournal() { return shared }
        if case .memory = try settings().server.journal {
            throw CommandFailure("With --journal memory nothing is kept. Give the journal that the server was given.")
        }
        return SQLiteJournalFile(directory: try existingDataFolder())
    }
}
