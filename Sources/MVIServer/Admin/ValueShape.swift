import LibCrypto

/// Replaces values in JSON by the names of their types, so that a document shows no data of users.
enum ValueShape {
    /// Stands for a subject, and for a member's name that may be a user's: names of dictionaries' members are values, too.
    static let hiddenName = "…"

    /// Returns a JSON text without whitespace with `"string"`, `"number"` and `"boolean"` in place of such values.
    ///
    /// - Parameter depth: the depth of objects whose string member `type` stays, since it names a case; 0 for none.
    static func of(_ json: [UInt8], typeDepth depth: Int = 0) -> [UInt8] {
        var output: [UInt8] = []
        var (place, level) = (0, 0)
        var isType = false
        while place < json.count {
            let byte = json[place]
            switch byte {
            case UInt8(ascii: "\""):
                let end = self.end(ofString: place, json)
                let isName = end < json.count && json[end] == UInt8(ascii: ":")
                if isName {
                    isType = level == depth && json[place..<end].elementsEqual("\"type\"".utf8)
                    if isPlain(json[(place + 1)..<(end - 1)]) {
                        output += json[place..<end]
                    } else {
                        output += "\"\(hiddenName)\"".utf8
                    }
                } else if isType, isPlain(json[(place + 1)..<(end - 1)]) {
                    output += json[place..<end]
                } else {
                    output += "\"string\"".utf8
                }
                if !isName { isType = false }
                place = end
                continue
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                output += "\"number\"".utf8
                while place < json.count, isOfNumber(json[place]) { place += 1 }
                continue
            case UInt8(ascii: "t"), UInt8(ascii: "f"):
                output += "\"boolean\"".utf8
                place += byte == UInt8(ascii: "t") ? 4 : 5
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                level += 1
                isType = false
            case UInt8(ascii: "}"), UInt8(ascii: "]"): level -= 1
            default: break
            }
            output.append(byte)
            place += 1
        }
        return output
    }

    /// The arrays and objects of a JSON text.
    enum Tree: Decodable {
        case array([Tree])
        case object([String: Tree])
        case value

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let elements = try? container.decode([Tree].self) {
                self = .array(elements)
            } else if let members = try? container.decode([String: Tree].self) {
                self = .object(members)
            } else {
                self = .value
            }
        }

        fileprivate func child(_ token: String) -> Tree? {
            switch self {
            case .array(let elements): Int(token).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
            case .object(let members): members[token]
            case .value: nil
            }
        }
    }

    /// Returns a JSON Pointer without names that may be a user's. Digits stay only where they are the index of an array:
    /// a dictionary's key of digits is a value.
    ///
    /// - Parameter documents: those that the pointer refers to.
    static func path(_ path: String, in documents: [Tree]) -> String {
        var places = documents
        let shown = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { token -> String in
            let isIndex = !places.isEmpty && places.allSatisfy { if case .array = $0 { true } else { false } }
            let name = String(token.replacing("~1", with: "/").replacing("~0", with: "~"))
            places = places.compactMap { $0.child(name) }
            return isIndex || isPlain(Array(token.utf8)[...]) ? String(token) : hiddenName
        }
        return shown.map { "/\($0)" }.joined()
    }

    /// The index after a string's closing quotation mark.
    private static func end(ofString start: Int, _ json: [UInt8]) -> Int {
        var place = start + 1
        while place < json.count, json[place] != UInt8(ascii: "\"") {
            place += json[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(place + 1, json.count)
    }

    /// A key of this process, from the system's generator.
    private static let key = HMACKey((0..<32).map { _ in UInt8.random(in: .min ... .max) })

    /// Returns a name in the place of an intent's id, which a client may have chosen: the same for the same id in a session.
    /// Without the process's key a guessed id cannot be compared with it.
    static func intent(_ id: String, session: String) -> String {
        // The server's own ids have no values.
        if id.hasPrefix("‹") { return id }
        let code = key.code(for: Array("\(session)\n\(id)".utf8))
        return String(code.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }, radix: 36)
    }

    /// True for what looks like the name of a member or a case in code. Numbers of people and things have digits.
    private static func isPlain(_ name: ArraySlice<UInt8>) -> Bool {
        name.count <= 40
            && name.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    private static func isOfNumber(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "+-.eE".utf8.contains(byte)
    }
}
