/// A JSON text without whitespace, whose values are found by reading few of its bytes. It must be well-formed. If it is
/// not, the result is nil or some place in the text; nothing outside of it is read.
struct CompactText {
    let bytes: [UInt8]

    /// A member of an object: its name without quotes, with escapes as written, and the start of its value.
    struct Member {
        let name: Range<Int>
        let value: Int
    }

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Returns the byte at a place; 0, which is never part of JSON, at the end.
    func byte(at place: Int) -> UInt8 { place < bytes.count ? bytes[place] : 0 }

    /// Returns the member that begins at a place.
    func member(at place: Int) -> Member? {
        guard byte(at: place) == UInt8(ascii: "\""), let end = endOfString(place), byte(at: end) == UInt8(ascii: ":")
        else { return nil }
        return Member(name: place + 1..<end - 1, value: end + 1)
    }

    /// Returns the place after a member or an element, and after the comma if one follows; nil if the container neither
    /// continues nor ends there.
    func next(after end: Int, closing: UInt8) -> Int? {
        switch byte(at: end) {
        case UInt8(ascii: ","): end + 1
        case closing: end
        default: nil
        }
    }

    /// Returns the members from a place in an object on, with the ends of their values, and the place after the object.
    func members(from start: Int) -> (members: [(Member, end: Int)], end: Int)? {
        var members: [(Member, end: Int)] = []
        var place = start
        while byte(at: place) != UInt8(ascii: "}") {
            guard let member = member(at: place), let end = end(of: member.value),
                let next = next(after: end, closing: UInt8(ascii: "}"))
            else { return nil }
            members.append((member, end))
            place = next
        }
        return (members, place + 1)
    }

    /// Returns the elements of the array that begins at a place, and the place after it.
    func elements(at array: Int) -> (elements: [Range<Int>], end: Int)? {
        var elements: [Range<Int>] = []
        var place = array + 1
        while byte(at: place) != UInt8(ascii: "]") {
            guard let end = end(of: place), let next = next(after: end, closing: UInt8(ascii: "]")) else { return nil }
            elements.append(place..<end)
            place = next
        }
        return (elements, place + 1)
    }

    /// Returns the place after a value.
    func end(of start: Int) -> Int? {
        switch byte(at: start) {
        case UInt8(ascii: "\""): return endOfString(start)
        case UInt8(ascii: "{"), UInt8(ascii: "["): return endOfContainer(start)
        default:
            var place = start
            while place < bytes.count, !Self.isDelimiter(bytes[place]) { place += 1 }
            return place > start ? place : nil
        }
    }

    /// Returns true if the value, or a nested object that is not inside an array, has a member that is `null`.
    func hasNullMember(_ value: Range<Int>) -> Bool {
        var arrays = 0
        var place = value.lowerBound
        while place < value.upperBound {
            switch bytes[place] {
            case UInt8(ascii: "\""):
                guard let end = endOfString(place) else { return true }
                place = end
                continue
            case UInt8(ascii: "["): arrays += 1
            case UInt8(ascii: "]"): arrays -= 1
            case UInt8(ascii: "n") where arrays == 0: return true
            default: break
            }
            place += 1
        }
        return false
    }

    private func endOfContainer(_ start: Int) -> Int? {
        let text = bytes.span
        var depth = 0
        var place = start
        while place < text.count {
            let byte = text[place]
            place += 1
            if byte == UInt8(ascii: "\"") {
                // Most bytes are in the text of strings.
                while place < text.count, text[place] != UInt8(ascii: "\"") {
                    place += text[place] == UInt8(ascii: "\\") ? 2 : 1
                }
                place += 1
            } else if byte > UInt8(ascii: ":") {
                // `{` and `[`, `}` and `]` differ by one bit.
                switch byte | 0x20 {
                case UInt8(ascii: "{"): depth += 1
                case UInt8(ascii: "}"):
                    depth -= 1
                    if depth == 0 { return place }
                default: break
                }
            }
        }
        return nil
    }

    private func endOfString(_ start: Int) -> Int? {
        let text = bytes.span
        var place = start + 1
        while place < text.count {
            let byte = text[place]
            if byte == UInt8(ascii: "\"") { return place + 1 }
            place += byte == UInt8(ascii: "\\") ? 2 : 1
        }
        return nil
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
    }
}
