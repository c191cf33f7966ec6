/// A path to a value inside a document (RFC 6901).
struct JSONPointer {
    /// Names and array indexes as UTF-8, outermost first.
    let tokens: [[UInt8]]

    /// - Parameter text: characters as UTF-8: empty, or `/` before each token.
    init(_ text: [UInt8]) throws(DeltaError) {
        guard let first = text.first else {
            tokens = []
            return
        }
        guard first == UInt8(ascii: "/") else { throw DeltaError("a JSON Pointer that is not empty begins with '/'") }
        var tokens: [[UInt8]] = []
        for token in text.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            tokens.append(try Self.unescape(token))
        }
        self.tokens = tokens
    }

    /// Resolves escapes (RFC 6901 section 3): `~1` is `/`, `~0` is `~`.
    private static func unescape(_ token: ArraySlice<UInt8>) throws(DeltaError) -> [UInt8] {
        var text: [UInt8] = []
        var index = token.startIndex
        while index < token.endIndex {
            guard token[index] == UInt8(ascii: "~") else {
                text.append(token[index])
                index += 1
                continue
            }
            let digit = index + 1 < token.endIndex ? token[index + 1] : 0
            switch digit {
            case UInt8(ascii: "0"): text.append(UInt8(ascii: "~"))
            case UInt8(ascii: "1"): text.append(UInt8(ascii: "/"))
            default: throw DeltaError("in a JSON Pointer '~' must be followed by 0 or 1")
            }
            index += 2
        }
        return text
    }

    /// Returns true if the other pointer refers to a value inside this one's value.
    func isAbove(_ other: JSONPointer) -> Bool {
        tokens.count < other.tokens.count && other.tokens.starts(with: tokens)
    }

    /// Appends a token to a pointer's text.
    static func append(_ token: some Sequence<UInt8>, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "/"))
        for byte in token {
            switch byte {
            case UInt8(ascii: "~"): text += [UInt8(ascii: "~"), UInt8(ascii: "0")]
            case UInt8(ascii: "/"): text += [UInt8(ascii: "~"), UInt8(ascii: "1")]
            default: text.append(byte)
            }
        }
    }
}

extension JSONValue {
    /// Returns the value at the tokens.
    func value(at tokens: ArraySlice<[UInt8]>) throws(DeltaError) -> JSONValue {
        var value = self
        for token in tokens {
            switch value.content {
            case .object(let members):
                guard let member = members[token] else { throw Self.nothing(token) }
                value = member
            case .array(let elements): value = elements[try Self.index(token, below: elements.count)]
            case .plain, .string: throw Self.nothing(token)
            }
        }
        return value
    }

    /// Returns an array index: digits without a leading zero (RFC 6901 section 4).
    static func index(_ token: [UInt8], below count: Int) throws(DeltaError) -> Int {
        let isNumber = token.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        guard isNumber, token.count == 1 || token.first != UInt8(ascii: "0"),
            let index = Int(String(decoding: token, as: UTF8.self)), index < count
        else { throw DeltaError("an array has no index '\(String(decoding: token, as: UTF8.self))'") }
        return index
    }

    static func nothing(_ token: [UInt8]) -> DeltaError {
        DeltaError("there is no value at '\(String(decoding: token, as: UTF8.self))'")
    }
}
