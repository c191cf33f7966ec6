import WireJSON

enum Intent: Codable, Equatable, Sendable {
    case increment
    case add(amount: Int)
    case pick(String)
    case rename(from: String, to: String?)
    case maybe(Int?)
    case move(Direction, steps: [Direction])
    case nest(Inner)
    case wrap(inner: Inner)

    enum Inner: Codable, Equatable, Sendable {
        case leaf
        case pair(left: Int, right: Double)
        indirect case deeper(Intent)
    }
}

enum Direction: String, Codable, Sendable {
    case north, south
}

func encoded(_ value: some Encodable) throws -> String {
    String(decoding: try WireJSON.encode(value), as: UTF8.self)
}

func decoded<T: Decodable>(_ type: T.Type, _ text: String, limits: WireLimits = .value) throws(WireDecodingError) -> T {
    try WireJSON.decode(type, from: Array(text.utf8), limits: limits)
}

/// The single issue of a text that is JSON but of another form.
func issue<T: Decodable>(_ type: T.Type, _ text: String) throws -> WireDecodingError.Issue {
    do {
        _ = try WireJSON.decode(type, from: Array(text.utf8))
    } catch .mismatch(let issues) where issues.count == 1 {
        return issues[0]
    }
    throw Unexpected()
}

struct Unexpected: Error {}
