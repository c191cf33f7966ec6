import WireJSON

/// The configuration file: a JSON object whose members are named like the flags.
///
/// Read by `WireJSON`: other parsers of JSON need full Foundation, and with it ICU, 44 MB in a program.
enum ConfigurationFile {
    /// One member's value.
    private enum Value: Decodable {
        /// A value that could be given as a flag.
        case text(String)
        /// `null`, which sets nothing.
        case none
        /// An object, or a list of something else than texts.
        case other

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if value.decodeNil() {
                self = .none
            } else if let text = try? value.decode(String.self) {
                self = .text(text)
            } else if let truth = try? value.decode(Bool.self) {
                self = .text("\(truth)")
            } else if let number = try? value.decode(Int.self) {
                self = .text("\(number)")
            } else if let number = try? value.decode(Double.self) {
                self = .text("\(number)")
            } else if let texts = try? value.decode([String].self) {
                self = .text(texts.joined(separator: ","))
            } else {
                self = .other
            }
        }
    }

    /// The settings that a file holds, each as the text that a flag would have: a number in digits, `true` or `false`, and
    /// a list of texts with commas between them. A member that is `null` is left out.
    ///
    /// - Parameter known: the names that there are. A misspelt one is an error, where it would else be a setting that
    ///   silently does nothing.
    /// - Throws: `SettingError` if the file cannot be read, is not such an object, or sets what there is not.
    static func texts(_ path: String, known: Set<String>) throws(SettingError) -> [String: String] {
        let bytes: [UInt8]
        do throws(SettingFile.Unreadable) { bytes = try SettingFile.bytes(path) } catch {
            throw refusal(path, error.reason)
        }
        let members: [String: Value]
        do throws(WireDecodingError) {
            members = try WireJSON.decode([String: Value].self, from: bytes)
        } catch {
            throw refusal(path, "this one is \(error)")
        }
        let unknown = members.keys.filter { !known.contains($0) }.sorted()
        guard unknown.isEmpty else {
            throw refusal(path, "it sets what there is not: \(unknown.joined(separator: ", "))")
        }
        var texts: [String: String] = [:]
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            switch value {
            case .text(let text): texts[name] = text
            case .none: continue
            case .other:
                throw refusal(path, "\"\(name)\" is not a text, a number, true, false or a list of texts")
            }
        }
        return texts
    }

    private static func refusal(_ path: String, _ reason: String) -> SettingError {
        SettingError(
            name: "config", given: path,
            expected: "the path of a JSON file with one object whose members are named like the flags, but \(reason)")
    }
}
