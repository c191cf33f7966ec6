/// A value of one of SQLite's five storage classes.
package enum SQLiteValue: Sendable, Hashable {
    /// SQL NULL.
    case null
    /// A signed integer of up to 64 bits.
    case integer(Int64)
    /// A double. SQLite stores NaN as NULL.
    case real(Double)
    /// Text, stored as UTF-8. NULs are preserved.
    case text(String)
    /// Bytes.
    case blob([UInt8])

    /// Converts an `Int`.
    package static func integer(_ value: Int) -> SQLiteValue { .integer(Int64(value)) }

    /// Text, or NULL for nil.
    package init(_ text: String?) { self = text.map(SQLiteValue.text) ?? .null }

    /// An integer, or NULL for nil.
    package init(_ integer: Int64?) { self = integer.map(SQLiteValue.integer) ?? .null }
}

extension SQLiteValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
    ExpressibleByNilLiteral
{
    /// `1`
    package init(integerLiteral value: Int64) { self = .integer(value) }
    /// `0.5`
    package init(floatLiteral value: Double) { self = .real(value) }
    /// `"text"`
    package init(stringLiteral value: String) { self = .text(value) }
    /// `nil`, which is NULL.
    package init(nilLiteral: ()) { self = .null }
}
