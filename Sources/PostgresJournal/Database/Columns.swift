import MVI
import PostgreSQL
import SessionJournal

extension PostgresValue {
    static func time(_ time: Duration) -> PostgresValue { .int8(time.nanoseconds) }

    /// All 64 bits of the value.
    static func bits(_ value: UInt64) -> PostgresValue { .int8(Int64(bitPattern: value)) }

    static func key(_ session: SessionKey) -> PostgresValue { .int8(session.number) }

    /// The UTF-8 of a text, which may contain NULs.
    static func utf8(_ text: String?) -> PostgresValue { .bytea(text.map { Array($0.utf8) }) }

    /// A time in whole milliseconds, as in PostgreSQL's settings.
    static func milliseconds(_ time: Duration) -> PostgresValue { .text("\(time.nanoseconds / 1_000_000)") }
}

extension PostgresRow {
    func time(_ column: Int) throws(PostgresError) -> Duration { .nanoseconds(try int8(column)) }

    func bits(_ column: Int) throws(PostgresError) -> UInt64 { UInt64(bitPattern: try int8(column)) }

    func key(_ column: Int) throws(PostgresError) -> SessionKey { SessionKey(try int8(column)) }

    /// Reads a head with the number in `column` and the nonce in the next one.
    func head(_ column: Int) throws(PostgresError) -> SessionHead {
        SessionHead(number: try bits(column), nonce: try bits(column + 1))
    }

    /// Reads an owner with the node in `column` and the fence in the next two; nil if they are NULL.
    func owner(_ column: Int) throws(PostgresError) -> SessionOwner? {
        isNull(column) ? nil : SessionOwner(node: NodeID(try int8(column)), fence: try head(column + 1))
    }

    /// Reads a node from the first four columns.
    func node() throws(PostgresError) -> NodeRecord {
        NodeRecord(
            id: NodeID(try int8(0)), address: try text(1), isDraining: try bool(2), renewals: try bits(3))
    }

    func feature(_ column: Int) throws -> FeatureID { try FeatureID(stored: try text(column)) }

    func token(_ column: Int) throws -> TokenHash {
        let bytes = try bytes(column)
        guard bytes.count == 32 else { throw StoreError.unexpected("\(bytes.count) bytes", "a token's hash") }
        return TokenHash(bytes)
    }

    /// Reads a subject with the issuer in `column` and the id in the next one; nil if they are NULL.
    func subject(_ column: Int) throws(PostgresError) -> Subject? {
        isNull(column + 1) ? nil : Subject(issuer: try text(column), id: try text(column + 1))
    }

    /// Reads a column with the heads before the newest one, newest first.
    func heads(_ column: Int, before newest: SessionHead) throws -> [SessionHead] {
        let bytes = try bytes(column)
        guard bytes.count.isMultiple(of: 16) else { throw StoreError.unexpected("\(bytes.count) bytes", "heads") }
        func number(_ start: Int) -> UInt64 { bytes[start..<(start + 8)].reduce(0) { $0 << 8 | UInt64($1) } }
        return stride(from: bytes.count - 16, through: 0, by: -16).map {
            SessionHead(number: number($0), nonce: number($0 + 8))
        } + [newest]
    }
}

/// The column format of the stores whose work an owner runs: their names separated by NULs, which no name contains.
enum WorkingStores {
    static func bytes(_ features: [FeatureID]) -> [UInt8] {
        Array(features.map { Array($0.text.utf8) }.joined(separator: [0]))
    }

    static func features(_ bytes: [UInt8]) throws -> [FeatureID] {
        try bytes.split(separator: 0).map { try FeatureID(stored: String(decoding: $0, as: UTF8.self)) }
    }
}

/// The columns that identify a receipt.
struct ReceiptColumns: Hashable {
    let scope: [UInt8]
    let name: [UInt8]

    init(_ key: ReceiptKey) {
        switch key {
        case .key(let key, let feature): (scope, name) = (Array("k\(feature.text)".utf8), Array(key.utf8))
        case .sequence(let number, let epoch):
            scope = Array("s\(epoch)".utf8)
            name = stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) }
        }
    }

    init(scope: [UInt8], name: [UInt8]) { (self.scope, self.name) = (scope, name) }

    /// FNV-1a of both columns: the same in every version and on every machine.
    var hash: Int64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in scope { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        hash = (hash ^ 0xff) &* 0x100_0000_01b3
        for byte in name { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return Int64(bitPattern: hash)
    }

    func key() throws -> ReceiptKey {
        // By bytes: the first letter and what follows may form one character.
        let rest = String(decoding: scope.dropFirst(), as: UTF8.self)
        if scope.first == UInt8(ascii: "k") {
            return .key(String(decoding: name, as: UTF8.self), feature: try FeatureID(stored: rest))
        }
        guard name.count == 8 else { throw StoreError.unexpected("\(name.count) bytes", "a number") }
        return .sequence(name.reduce(0) { $0 << 8 | UInt64($1) }, epoch: rest)
    }
}
