import SessionJournal

/// A payload of `NOTIFY`: Base64 of a kind, the sender's random number, and entries of that kind.
struct NewsMessage: Hashable, Sendable {
    enum Kind: UInt8 {
        /// A session's key and its head's number, both as variable-length integers, and the head's 8 random bytes.
        case appended = 1
        /// A session's key.
        case changed = 2
        /// A token's hash.
        case known = 3
        /// One byte, so that there is an entry.
        case nodes = 4
        /// A session's key.
        case contended = 5
    }

    /// PostgreSQL's payloads have less than 8,000 bytes: https://www.postgresql.org/docs/15/sql-notify.html
    static let limit = 7_999

    let text: String

    // MARK: Writing

    /// Collects entries until a message is full.
    struct Builder {
        private let kind: Kind
        private let first: [UInt8]
        private var bytes: [UInt8]

        init(_ kind: Kind, from sender: UInt64) {
            (self.kind, first) = (kind, [kind.rawValue] + sender.bytes)
            bytes = first
        }

        /// Adds an entry. If it does not fit, returns the full message and begins another.
        mutating func add(_ entry: [UInt8]) -> NewsMessage? {
            let isFull = bytes.count + entry.count > NewsMessage.limit / 4 * 3
            let full = isFull ? end() : nil
            bytes += entry
            return full
        }

        /// Returns the message with the added entries, or nil if there are none.
        mutating func end() -> NewsMessage? {
            guard bytes.count > first.count else { return nil }
            defer { bytes = first }
            return NewsMessage(text: Base64.text(bytes))
        }
    }

    static func bytes(_ session: SessionKey) -> [UInt8] { varint(UInt64(bitPattern: session.number)) }

    /// Seven bits a byte, lowest first. The highest bit marks that more bytes follow.
    static func varint(_ number: UInt64) -> [UInt8] {
        var (rest, bytes): (UInt64, [UInt8]) = (number, [])
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    // MARK: Reading

    /// Returns the news of a message; nil for this process's own, another version's or an invalid one.
    func news(to receiver: UInt64) -> JournalNews? {
        guard let bytes = Base64.bytes(text) else { return nil }
        var reader = Reader(bytes: bytes[...])
        guard let kind = reader.byte().flatMap(Kind.init(rawValue:)), let sender = reader.number(), sender != receiver
        else { return nil }
        switch kind {
        case .appended:
            var heads: [SessionKey: SessionHead] = [:]
            while !reader.bytes.isEmpty {
                guard let key = reader.varint(), let number = reader.varint(), let nonce = reader.number() else {
                    return nil
                }
                heads[SessionKey(Int64(bitPattern: key))] = SessionHead(number: number, nonce: nonce)
            }
            return .appended(heads)
        case .changed:
            var sessions: [SessionKey] = []
            while !reader.bytes.isEmpty {
                guard let key = reader.varint() else { return nil }
                sessions.append(SessionKey(Int64(bitPattern: key)))
            }
            return .changed(sessions)
        case .known:
            var tokens: [TokenHash] = []
            while !reader.bytes.isEmpty {
                guard let token = reader.take(32) else { return nil }
                tokens.append(TokenHash(Array(token)))
            }
            return .known(tokens)
        case .nodes: return .nodes
        case .contended: return reader.varint().map { .contended(SessionKey(Int64(bitPattern: $0))) }
        }
    }

    private struct Reader {
        var bytes: ArraySlice<UInt8>

        mutating func byte() -> UInt8? { bytes.popFirst() }

        mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard bytes.count >= count else { return nil }
            defer { bytes = bytes.dropFirst(count) }
            return bytes.prefix(count)
        }

        /// Reads 64 bits.
        mutating func number() -> UInt64? { take(8).map { $0.reduce(0) { $0 << 8 | UInt64($1) } } }

        mutating func varint() -> UInt64? {
            var number: UInt64 = 0
            for place in 0..<10 {
                guard let byte = byte() else { return nil }
                number |= UInt64(byte & 0x7f) << UInt64(place * 7)
                if byte & 0x80 == 0 { return number }
            }
            return nil
        }
    }
}

extension UInt64 {
    /// The most significant byte first.
    var bytes: [UInt8] { stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> UInt64($0)) } }
}
