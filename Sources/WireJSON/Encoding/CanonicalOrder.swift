/// Sorts output that the standard library writes in hash order by its bytes.
enum CanonicalOrder {
    /// Sorts the members or elements of the container from `start` to the output's end. Groups of `group` values stay
    /// together.
    static func sort(_ bytes: inout [UInt8], from start: Int, group: Int) {
        var items: [ArraySlice<UInt8>] = []
        var itemStart = start + 1
        var commas = 0
        var depth = 0
        var index = start
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""): index = OutputPath.endOfString(bytes[...], from: index) - 1
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ",") where depth == 1:
                commas += 1
                if commas.isMultiple(of: group) {
                    items.append(bytes[itemStart..<index])
                    itemStart = index + 1
                }
            default: break
            }
            index += 1
        }
        items.append(bytes[itemStart..<bytes.count - 1])
        items.sort { $0.lexicographicallyPrecedes($1) }
        let sorted = Array(items.joined(separator: [UInt8(ascii: ",")]))
        bytes.replaceSubrange(start + 1..<bytes.count - 1, with: sorted)
    }

    /// Makes an object of an array of alternating names and values, from `start` to the output's end. Returns without a
    /// change if a key is no text.
    static func name(_ bytes: inout [UInt8], from start: Int) {
        var commas: [Int] = []
        var depth = 0
        var index = start
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                index = OutputPath.endOfString(bytes[...], from: index) - 1
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ",") where depth == 1: commas.append(index)
            default: break
            }
            index += 1
        }
        let ends = commas.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
        let starts = [start] + commas.enumerated().filter { !$0.offset.isMultiple(of: 2) }.map(\.element)
        guard ends.isEmpty || starts.allSatisfy({ bytes[$0 + 1] == UInt8(ascii: "\"") }) else { return }
        for end in ends { bytes[end] = UInt8(ascii: ":") }
        bytes[start] = UInt8(ascii: "{")
        bytes[bytes.count - 1] = UInt8(ascii: "}")
    }
}

/// Collections of the standard library that encode themselves as an array in hash order.
protocol UnorderedCollection {
    /// The number of consecutive values that belong together.
    static var valuesPerElement: Int { get }
}

extension Set: UnorderedCollection {
    static var valuesPerElement: Int { 1 }
}

/// A dictionary with other keys than strings is an array of alternating keys and values.
extension Dictionary: UnorderedCollection {
    static var valuesPerElement: Int { 2 }
}
