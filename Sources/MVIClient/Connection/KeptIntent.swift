import WireJSON

/// An intent in a ``PendingStorage``, with all that another run of the app needs to send it again.
struct KeptIntent: Sendable, Equatable {
    /// The idempotency key.
    var key: String
    var feature: String
    /// The intent as JSON, unchanged: a key is for one body.
    var body: [UInt8]
    var owner: IntentOwner
    /// The time since 1970 at which it is abandoned.
    var until: Duration
    var mayHaveRun: Bool
}

/// The session of an intent, as far as it can be identified after the end of the app.
struct IntentOwner: Sendable, Hashable, Codable {
    /// The session's id, if it is known.
    var session: String?
    /// The hash of the token of a session whose id is unknown. Without both, any session is meant that is created later.
    var group: String?

    /// The group of a token: its 64-bit FNV-1a hash, which does not give the token back.
    static func group(of token: String) -> String {
        String(token.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }, radix: 16)
    }
}

extension KeptIntent: Codable {
    private enum CodingKeys: String, CodingKey {
        case key = "id"
        case feature, body, owner, until, mayHaveRun
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        key = try members.decode(String.self, forKey: .key)
        feature = try members.decode(String.self, forKey: .feature)
        body = Array(try members.decode(String.self, forKey: .body).utf8)
        owner = try members.decode(IntentOwner.self, forKey: .owner)
        until = .milliseconds(try members.decode(Int64.self, forKey: .until))
        mayHaveRun = try members.decodeIfPresent(Bool.self, forKey: .mayHaveRun) ?? false
    }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(key, forKey: .key)
        try members.encode(feature, forKey: .feature)
        try members.encode(String(decoding: body, as: UTF8.self), forKey: .body)
        try members.encode(owner, forKey: .owner)
        try members.encode(Int64(until / .milliseconds(1)), forKey: .until)
        try members.encode(mayHaveRun, forKey: .mayHaveRun)
    }

    /// Returns a list as the text that is saved.
    static func text(of list: [KeptIntent]) -> String? {
        (try? WireJSON.encode(list)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Reads a saved text. Entries that cannot be read, such as another program's, are left out.
    static func list(in text: String) -> [KeptIntent] {
        let entries = (try? WireJSON.decode([JSONText].self, from: Array(text.utf8))) ?? []
        return entries.compactMap { try? WireJSON.decode(KeptIntent.self, from: $0.bytes) }
    }
}
