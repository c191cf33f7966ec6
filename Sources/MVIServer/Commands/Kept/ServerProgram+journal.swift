import SQLiteJournal
import SessionJournal

extension ServerProgram {
    /// The folder of `--data`, `MVI_DATA` or the configuration file. Throws if it does not exist: commands do not
    /// create it.
    func existingDataFolder() throws -> String {
        let folder = try dataFolder()
        guard FilePath.isFolder(folder) else {
            throw CommandFailure(
                "The data folder '\(folder)' does not exist. Give the server's data folder with --data or MVI_DATA.")
        }
        return folder
    }

    /// The folder of the settings, which may not exist.
    func dataFolder() throws -> String {
        guard let folder = try settings().server.dataFolder else {
            throw CommandFailure("With --data :memory: nothing is stored. Give the server's data folder.")
        }
        return folder
    }

    /// The journal that servers share; nil if the settings name a journal of one server.
    func sharedJournal() throws -> (any SharedJournalMaintenance)? {
        let (settings, command) = try settings()
        guard case .postgres = settings.journal else { return nil }
        guard let storage = command.sharedStorage else {
            throw CommandFailure("--journal names PostgreSQL, which this program lacks: see sharedStorage.")
        }
        do throws(SettingError) {
            return try storage.maintenance(settings)
        } catch {
            throw CommandFailure("\(error)")
        }
    }

    /// The journal of the settings, for maintenance.
    func journal() throws -> any JournalMaintenance {
        if let shared = try sharedJournal() { return shared }
        if case .memory = try settings().server.journal {
            throw CommandFailure("With --journal memory nothing is stored. Give the server's journal.")
        }
        return SQLiteJournalFile(directory: try existingDataFolder())
    }
}
