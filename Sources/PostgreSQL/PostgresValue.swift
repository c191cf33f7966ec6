/// A parameter of a statement, in PostgreSQL's binary format: numbers with the most significant byte first.
///
/// It includes its type, so that a statement needs no casts.
package struct PostgresValue: Sendable {
    /// An object id of `pg_type`; these are the same in every database.
    enum TypeID: UInt32 {
        case bool = 16
        case bytea = 17
        case int8 = 20
        case int4 = 23
        case text = 25
        case boolArray = 1000
        case byteaArray = 1001
        case int4Array = 1007
        case textArray = 1009
        case int8Array = 1016
    }

    let type: TypeID
    /// Nil for NULL.
    let bytes: [UInt8]?

    private init(_ type: TypeID, _ bytes: [UInt8]?) { (self.type, self.bytes) = (type, bytes) }

    package static func int8(_ value: Int64?) -> PostgresValue { PostgresValue(.int8, value.map(\.bigEndianBytes)) }

    package static func int4(_ value: Int32?) -> PostgresValue { PostgresValue(.int4, value.map(\.bigEndianBytes)) }

    package static func bool(_ value: Bool?) -> PostgresValue { PostgresValue(.bool, value.map { [$0 ? 1 : 0] }) }

    package static func bytea(_ value: [UInt8]?) -> PostgresValue { PostgresValue(.bytea, value) }

    /// A text without NULs, which PostgreSQL cannot store.
    package static func text(_ value: String?) -> PostgresValue { PostgresValue(.text, value.map { Array($0.utf8) }) }

    package static func int8s(_ values: [Int64?]) -> PostgresValue {
        array(.int8) { array in for value in values { array.append(value) } }
    }

    package static func int4s(_ values: [Int32?]) -> PostgresValue {
        array(.int4) { array in for value in values { array.append(value) } }
    }

    package static func byteas(_ values: [[UInt8]?]) -> PostgresValue {
        array(.bytea) { array in for value in values { array.append(value) } }
    }

    /// Texts without NULs.
    package static func texts(_ values: [String?]) -> PostgresValue {
        array(.text) { array in for value in values { array.append(value?.utf8) } }
    }

    private static func array(_ kind: PostgresArray.Kind, _ fill: (inout PostgresArray) -> Void) -> PostgresValue {
        var array = PostgresArray(kind)
        fill(&array)
        return PostgresValue(array)
    }

    /// An array of one dimension whose first index is 1: the number of dimensions, whether there are NULLs, the
    /// elements' type, their count and the first index; then the elements.
    package init(_ array: PostgresArray) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(20 + array.bytes.count)
        bytes.append(Int32(array.count == 0 ? 0 : 1))
        bytes.append(Int32(array.nullCount == 0 ? 0 : 1))
        bytes.append(array.kind.rawValue)
        if array.count > 0 {
            bytes.append(Int32(array.count))
            bytes.append(Int32(1))
            bytes.append(contentsOf: array.bytes)
        }
        self.init(array.kind.arrayType, bytes)
    }
}

/// The elements of an array parameter: each one's length, -1 for NULL, and its bytes.
package struct PostgresArray: Sendable {
    /// The type of the elements.
    package enum Kind: UInt32, Sendable {
        case bool = 16
        case bytea = 17
        case int8 = 20
        case int4 = 23
        case text = 25

        fileprivate var arrayType: PostgresValue.TypeID {
            switch self {
            case .bool: .boolArray
            case .bytea: .byteaArray
            case .int8: .int8Array
            case .int4: .int4Array
            case .text: .textArray
            }
        }
    }

    package let kind: Kind
    package private(set) var count = 0
    package private(set) var nullCount = 0
    fileprivate var bytes: [UInt8] = []

    package init(_ kind: Kind) { self.kind = kind }

    package mutating func append<Number: FixedWidthInteger>(_ value: Number?) {
        guard let value else { return appendNull() }
        count += 1
        bytes.append(Int32(Number.bitWidth / 8))
        bytes.append(value)
    }

    /// Appends the bytes of a `bytea`, or of a text without NULs.
    package mutating func append(_ value: (some Collection<UInt8>)?) {
        guard let value else { return appendNull() }
        count += 1
        bytes.append(Int32(value.count))
        bytes.append(contentsOf: value)
    }

    package mutating func append(_ value: Bool?) { append(value.map { UInt8($0 ? 1 : 0) }) }

    private mutating func appendNull() {
        (count, nullCount) = (count + 1, nullCount + 1)
        bytes.append(Int32(-1))
    }
}

/// A statement with its parameters, `$1` and so on. It has no name on the server: behind a pooler the next one may go
/// to another server process.
package struct PostgresStatement: Sendable {
    package let sql: String
    package let values: [PostgresValue]

    package init(_ sql: String, _ values: [PostgresValue] = []) { (self.sql, self.values) = (sql, values) }
}

extension FixedWidthInteger {
    var bigEndianBytes: [UInt8] {
        stride(from: Self.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> Self($0)) }
    }
}

extension [UInt8] {
    /// Appends a number, the most significant byte first.
    fileprivate mutating func append<Number: FixedWidthInteger>(_ number: Number) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}
