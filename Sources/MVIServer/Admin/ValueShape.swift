import LibCrypto

/// Replaces values in JSON by the names of their types, so that a document shows no data of users.
enum ValueShape {
    /// Stands for a member's name that may be a user's: names of dictionaries' members are values, too.
    private static let hiddenName = "…"

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

    /// Returns a JSON Pointer without names that may be a user's.
    static func path(_ path: String) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false)
            .map { isIndex($0) || isPlain(Array($0.utf8)[...]) ? String($0) : hiddenName }.joined(separator: "/")
    }

    /// The index after a string's closing quotation mark.
    private static func end(ofString start: Int, _ json: [UInt8]) -> Int {
        var place = start + 1
        while place < json.count, json[place] != UInt8(ascii: "\"") {
            place += json[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(place + 1, json.count)
    }

    /// Returns a name in the place of an intent's id, which a client may have chosen: the same for the same id.
    static func intent(_ id: String) -> String {
        // The server's own ids have no values.
        if id.hasPrefix("‹") { return id }
        var hash = SHA256()
        hash.update(Array(id.utf8)[...])
        return String(hash.words().0, radix: 36)
    }

    private static func isIndex(_ name: Substring) -> Bool {
        name.utf8.count <= 4 && name.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
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
