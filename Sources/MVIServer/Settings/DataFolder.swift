#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension ServerSettings {
    /// The folder in which data is kept; nil if nothing is.
    public var dataFolder: String? { data == ":memory:" ? nil : data }

    /// The path of a file in the folder, which is made if it is not there; nil if nothing is kept.
    public func dataFile(_ name: String) throws(SettingError) -> String? {
        guard let folder = dataFolder else { return nil }
        // Nobody else's business: the owner alone may look in.
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
            throw SettingError(
                name: "data", given: data,
                expected: "a folder that can be made or written to (errno \(errno)); the folders above it must exist")
        }
        return folder.hasSuffix("/") ? "\(folder)\(name)" : "\(folder)/\(name)"
    }
}
