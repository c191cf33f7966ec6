#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

import MVIServer

extension DemoSettings {
    /// The database's file, in a folder that is made if it is not there; nil for none.
    func databasePath() throws(SettingError) -> String? {
        guard data != ":memory:" else { return nil }
        // Nobody else's business: the owner alone may look in.
        guard mkdir(data, 0o700) == 0 || errno == EEXIST else {
            throw SettingError(
                name: "data", given: data,
                expected: "a folder that can be made or written to (errno \(errno)); the folders above it must exist")
        }
        return data.hasSuffix("/") ? "\(data)demo.sqlite" : "\(data)/demo.sqlite"
    }
}
