import WireJSON

/// JSON texts by chance, and changes of them.
struct RandomDocument {
    private var state: UInt64

    indirect enum Value {
        case plain(String)
        case string(String)
        case array([Value])
        case object([(name: String, value: Value)])
    }

    init(seed: UInt64) { state = seed }

    /// SplitMix64.
    mutating func next(_ count: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return Int((z ^ z >> 31) % UInt64(count))
    }

    static let names = [
        "a", "b", "id", "name", "a/b", "m~n", "", "\"", "\\", "é", "😀", "line\nbreak", "long name of a member", "0",
        "-",
    ]
    static let plain = ["0", "-1", "1.5", "1e9", "18446744073709551615", "0.10", "true", "false", "null"]

    mutating func value(depth: Int, nulls: Bool = true) -> Value {
        switch next(depth > 0 ? 6 : 3) {
        case 0, 1: return .plain(Self.plain[next(Self.plain.count - (nulls ? 0 : 1))])
        case 2: return .string(Self.names[next(Self.names.count)] + String(next(4)))
        case 3, 4:
            var left = Self.names
            return .object(
                (0..<next(6)).map { _ in (left.remove(at: next(left.count)), value(depth: depth - 1, nulls: nulls)) })
        default:
            let sample = value(depth: depth - 1, nulls: nulls)
            return .array(
                (0..<next(7)).map { _ in next(3) == 0 ? sample : value(depth: depth - 1, nulls: nulls) })
        }
    }

    /// The same with something else somewhere.
    mutating func changed(_ value: Value, nulls: Bool = true) -> Value {
        switch value {
        case .object(var members) where !members.isEmpty && next(4) > 0:
            let place = next(members.count)
            switch next(4) {
            case 0: members.remove(at: place)
            case 1: members.swapAt(place, 0)
            default: members[place].value = changed(members[place].value, nulls: nulls)
            }
            return .object(members)
        case .array(var elements) where !elements.isEmpty && next(4) > 0:
            let place = next(elements.count)
            switch next(4) {
            case 0: elements.remove(at: place)
            case 1: elements.insert(self.value(depth: 1, nulls: nulls), at: place)
            default: elements[place] = changed(elements[place], nulls: nulls)
            }
            return .array(elements)
        default: return self.value(depth: 2, nulls: nulls)
        }
    }

    static func text(_ value: Value, sorted: Bool = false) -> String {
        func literal(_ text: String) -> String {
            var bytes: [UInt8] = []
            WireJSON.appendString(text, to: &bytes)
            return String(decoding: bytes, as: UTF8.self)
        }
        switch value {
        case .plain(let text): return text
        case .string(let text): return literal(text)
        case .array(let elements): return "[" + elements.map { text($0, sorted: sorted) }.joined(separator: ",") + "]"
        case .object(let members):
            let texts = members.map { literal($0.name) + ":" + text($0.value, sorted: sorted) }
            return "{" + (sorted ? texts.sorted() : texts).joined(separator: ",") + "}"
        }
    }
}
