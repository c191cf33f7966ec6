import MVI
import SessionJournal

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The inspector's link with this run's token. It is printed to a terminal only: other outputs are kept and read by others.
enum InspectorLink {
    /// Writes the link into a new file for its owner only, in the data folder or else in the folder for temporary files.
    /// Returns the file's path.
    ///
    /// - Throws: `StoreError` if it cannot be written.
    static func make(_ link: String, dataFolder: String?) throws(StoreError) -> String {
        let temporary = SettingsSource.variable("TMPDIR") ?? "/tmp"
        let path =
            dataFolder.map { "\($0)/inspector-link" }
            ?? "\(temporary)/mvi-inspector-\(String(UInt64.random(in: .min ... .max), radix: 36))"
        // Of an earlier run. A link of this name is removed, and its target is left unchanged.
        unlink(path)
        try PrivateFile.write(Array("\(link)\n".utf8), to: path)
        return path
    }
}
