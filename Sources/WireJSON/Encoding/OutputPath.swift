/// Derives the path of the end of an unfinished document from its text. Errors are rare, so the encoder does not track
/// the path.
enum OutputPath {
    static func path(in output: ArraySlice<UInt8>) -> [PathKey] {
        var path: [PathKey] = []
        /// True if the next string in the innermost object is a member's name.
        var awaitsName = false
        var index = output.startIndex
        while index < output.endIndex {
            switch output[index] {
            case UInt8(ascii: "{"):
                path.append(.member(""))
                awaitsName = true
            case UInt8(ascii: "["): path.append(.index(0))
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                path.removeLast()
                awaitsName = false
            case UInt8(ascii: ","):
                if let last = path.last?.intValue {
                    path[path.count - 1] = .index(last + 1)
                } else {
                    awaitsName = true
                }
            case UInt8(ascii: "\""):
                let end = endOfString(output, from: index)
                if awaitsName {
                    let name = EscapedText.unescaped(output[index + 1..<end - 1])
                    path[path.count - 1] = .member(String(decoding: name, as: UTF8.self))
                    awaitsName = false
                }
                index = end - 1
            default: break
            }
            index += 1
        }
        // The path of an open object without members is the object itself.
        if awaitsName { path.removeLast() }
        return path
    }

    /// Returns the index after the closing quote of the string that begins at `start`.
    static func endOfString(_ output: ArraySlice<UInt8>, from start: Int) -> Int {
        var index = start + 1
        while output[index] != UInt8(ascii: "\"") {
            index += output[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return index + 1
    }
}
