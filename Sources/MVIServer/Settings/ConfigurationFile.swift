#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

import WireJSON

/// The configuration file's members, looked at before their values are: a misspelt one is an error, where it would
/// else be a setting that silently does nothing.
enum ConfigurationFile {
    private struct Members: Decodable {
        let names: [String]

        init(from decoder: any Decoder) throws {
            names = try decoder.container(keyedBy: Name.self).allKeys.map(\.stringValue)
        }
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    static func check(_ path: String, known: Set<String>) throws(SettingError) {
        let bytes = try read(path)
        let names: [String]
        do throws(WireDecodingError) {
            names = try WireJSON.decode(Members.self, from: bytes).names
        } catch {
            throw refusal(path, "\(error)")
        }
        let unknown = names.filter { !known.contains($0) }.sorted()
        guard unknown.isEmpty else {
            throw refusal(path, "it sets what there is not: \(unknown.joined(separator: ", "))")
        }
    }

    private static func refusal(_ path: String, _ reason: String) -> SettingError {
        SettingError(
            name: "config", given: path,
            expected: "the path of a JSON file with one object whose members are named like the flags, but \(reason)")
    }

    private static func read(_ path: String) throws(SettingError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY)
        guard descriptor >= 0 else { throw refusal(path, "it cannot be opened (errno \(errno))") }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            #if canImport(Glibc)
                let count = Glibc.read(descriptor, &part, part.count)
            #elseif canImport(Musl)
                let count = Musl.read(descriptor, &part, part.count)
            #else
                let count = Darwin.read(descriptor, &part, part.count)
            #endif
            guard count >= 0 else { throw refusal(path, "it cannot be read (errno \(errno))") }
            if count == 0 { return bytes }
            bytes += part.prefix(count)
        }
    }
}
