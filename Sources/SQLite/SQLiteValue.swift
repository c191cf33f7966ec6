/// A value of one of SQLite's five storage classes.
public enum SQLiteValue: Sendable, Hashable {
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
    public static func integer(_ value: Int) -> SQLiteValue { .integer(Int64(value)) }

    /// Text, or NULL for nil.
    public init(_ text: String?) { self = text.map(SQLiteValue.text) ?? .null }

    /// An integer, or NULL for nil.
    public init(_ integer: Int64?) { self = integer.map(SQLiteValue.integer) ?? .null }
}

extension SQLiteValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
    ExpressibleByNilLiteral
{
    /// `1`
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// `0.5`
    public init(floatLiteral value: Double) { self = .real(value) }
    /// `"text"`
    public init(stringLiteral value: String) { self = .text(value) }
    /// `nil`, which is NULL.
    public init(nilLiteral: ()) { self = .null }
}
