import WireJSON

/// A JSON text without blanks whose values are found by looking at few of its bytes. It is taken to be well-formed; where
/// it is not, nil or some range inside the text comes back, and nothing is read outside of it.
struct CompactText {
    let bytes: [UInt8]

    /// A member of an object: its name without quotes, escapes as written, and its value.
    struct Member {
        let name: Range<Int>
        let value: Range<Int>
    }

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The outermost value; nil if the text is empty or something follows the value.
    var whole: Range<Int>? {
        guard let end = end(of: 0), end == bytes.count else { return nil }
        return 0..<end
    }

    func first(of value: Range<Int>) -> UInt8 { bytes[value.lowerBound] }

    /// The members of an object in their order.
    func members(of object: Range<Int>) -> [Member]? {
        var members: [Member] = []
        var index = object.lowerBound + 1
        while index < object.upperBound, bytes[index] != UInt8(ascii: "}") {
            guard bytes[index] == UInt8(ascii: "\""), let nameEnd = endOfString(index), nameEnd < object.upperBound,
                bytes[nameEnd] == UInt8(ascii: ":"), let end = end(of: nameEnd + 1), end < object.upperBound
            else { return nil }
            members.append(Member(name: index + 1..<nameEnd - 1, value: nameEnd + 1..<end))
            index = bytes[end] == UInt8(ascii: ",") ? end + 1 : end
        }
        return members
    }

    /// The elements of an array in their order.
    func elements(of array: Range<Int>) -> [Range<Int>]? {
        var elements: [Range<Int>] = []
        var index = array.lowerBound + 1
        while index < array.upperBound, bytes[index] != UInt8(ascii: "]") {
            guard let end = end(of: index), end < array.upperBound else { return nil }
            elements.append(index..<end)
            index = bytes[end] == UInt8(ascii: ",") ? end + 1 : end
        }
        return elements
    }

    /// Whether an object that the value consists of, or that lies in it not below an array, has a member that is `null`.
    func hasNullMember(_ value: Range<Int>) -> Bool {
        var arrays = 0
        var index = value.lowerBound
        while index < value.upperBound {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                guard let end = endOfString(index) else { return true }
                index = end
                continue
            case UInt8(ascii: "["): arrays += 1
            case UInt8(ascii: "]"): arrays -= 1
            case UInt8(ascii: "n") where arrays == 0: return true
            default: break
            }
            index += 1
        }
        return false
    }

    /// The place behind a value.
    private func end(of start: Int) -> Int? {
        guard start < bytes.count else { return nil }
        switch bytes[start] {
        case UInt8(ascii: "\""): return endOfString(start)
        case UInt8(ascii: "{"), UInt8(ascii: "["): return endOfContainer(start)
        default:
            var index = start
            while index < bytes.count, !Self.isDelimiter(bytes[index]) { index += 1 }
            return index > start ? index : nil
        }
    }

    private func endOfContainer(_ start: Int) -> Int? {
        var depth = 0
        var index = start
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                guard let end = endOfString(index) else { return nil }
                index = end
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 { return index + 1 }
            default: break
            }
            index += 1
        }
        return nil
    }

    private func endOfString(_ start: Int) -> Int? {
        var index = start + 1
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") { return index + 1 }
            index += byte == UInt8(ascii: "\\") ? 2 : 1
        }
        return nil
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
    }
}

/// Two texts, the older one and the newer one.
struct TextPair {
    let old: CompactText
    let new: CompactText

    func areEqual(_ one: Range<Int>, _ two: Range<Int>) -> Bool {
        one.count == two.count && old.bytes[one] == new.bytes[two]
    }

    /// For each member of the newer object the place of the older one's with that name, if it has one.
    func matches(_ one: [CompactText.Member], _ two: [CompactText.Member]) -> [Int?] {
        if one.count == two.count, zip(one, two).allSatisfy({ areEqual($0.name, $1.name) }) {
            return Array(one.indices)
        }
        let places = Dictionary(one.indices.map { (characters(old.bytes[one[$0].name]), $0) }) { first, _ in first }
        return two.map { places[characters(new.bytes[$0.name])] }
    }

    /// A name however it is escaped.
    private func characters(_ name: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        name.contains(UInt8(ascii: "\\")) ? WireJSON.unescaped(name)[...] : name
    }
}
