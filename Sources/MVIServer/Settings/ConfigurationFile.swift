import WireJSON

/// The configuration file: a JSON object whose members are named like the flags.
///
/// Decoded with `WireJSON`: other parsers of JSON need full Foundation, and with it ICU, 44 MB in a program.
enum ConfigurationFile {
    /// One member's value.
    private enum Value: Decodable {
        /// A value that a flag can have.
        case text(String)
        /// `null`, which sets nothing.
        case none
        /// An object, or a list of other values than strings.
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

    /// Returns the settings of a file, each as the text of its flag: a number in digits, `true` or `false`, and a list
    /// as text with commas. `null` members are left out.
    ///
    /// - Parameter known: the valid names. Unknown names are errors, so that a misspelled setting is not silently
    ///   ignored.
    /// - Throws: `SettingError` if the file cannot be read, is not such an object, or has an unknown name.
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
            throw refusal(path, "it has unknown settings: \(unknown.joined(separator: ", "))")
        }
        var texts: [String: String] = [:]
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            switch value {
            case .text(let text): texts[name] = text
            case .none: continue
            case .other:
                throw refusal(path, "\"\(name)\" is not a string, a number, true, false or a list of strings")
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
