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

    package static func int8s(_ values: [Int64?]) -> PostgresValue { numbers(.int8Array, of: .int8, values) }

    package static func int4s(_ values: [Int32?]) -> PostgresValue { numbers(.int4Array, of: .int4, values) }

    package static func bools(_ values: [Bool?]) -> PostgresValue {
        numbers(.boolArray, of: .bool, values.map { value in value.map { UInt8($0 ? 1 : 0) } })
    }

    package static func byteas(_ values: [[UInt8]?]) -> PostgresValue {
        array(.byteaArray, of: .bytea, values, size: values.reduce(0) { $0 + ($1?.count ?? 0) }) { bytes, value in
            bytes.append(Int32(value.count))
            bytes.append(contentsOf: value)
        }
    }

    /// Texts without NULs.
    package static func texts(_ values: [String?]) -> PostgresValue {
        array(.textArray, of: .text, values, size: values.reduce(0) { $0 + ($1?.utf8.count ?? 0) }) { bytes, value in
            bytes.append(Int32(value.utf8.count))
            bytes.append(contentsOf: value.utf8)
        }
    }

    private static func numbers<Number: FixedWidthInteger>(
        _ type: TypeID, of element: TypeID, _ values: [Number?]
    ) -> PostgresValue {
        let size = Number.bitWidth / 8
        return array(type, of: element, values, size: values.count * size) { bytes, value in
            bytes.append(Int32(size))
            bytes.append(value)
        }
    }

    /// An array of one dimension whose first index is 1: the number of dimensions, whether there are NULLs, the
    /// elements' type, their count and the first index; then each element's length, -1 for NULL, and its bytes.
    ///
    /// - Parameters:
    ///   - size: The total size of the elements in bytes.
    ///   - write: Appends an element's length and bytes.
    private static func array<Element>(
        _ type: TypeID, of element: TypeID, _ elements: [Element?], size: Int,
        write: (inout [UInt8], Element) -> Void
    ) -> PostgresValue {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(20 + elements.count * 4 + size)
        bytes.append(Int32(elements.isEmpty ? 0 : 1))
        bytes.append(Int32(elements.contains { $0 == nil } ? 1 : 0))
        bytes.append(element.rawValue)
        if !elements.isEmpty {
            bytes.append(Int32(elements.count))
            bytes.append(Int32(1))
        }
        for element in elements {
            if let element { write(&bytes, element) } else { bytes.append(Int32(-1)) }
        }
        return PostgresValue(type, bytes)
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
