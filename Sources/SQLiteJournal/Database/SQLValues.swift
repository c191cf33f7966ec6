import SQLite
import SessionJournal

extension Duration {
    /// Nanoseconds in 64 bits: enough for the years 1678 to 2262 when it is a time since 1970; beyond, the nearest.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, overflowed) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        guard !overflowed else { return seconds < 0 ? .min : .max }
        return sum
    }
}

extension SQLiteValue {
    static func time(_ time: Duration) -> SQLiteValue { .integer(time.nanoseconds) }

    /// All 64 bits, in a column that is only compared for equality.
    static func bits(_ value: UInt64) -> SQLiteValue { .integer(Int64(bitPattern: value)) }

    static func number(_ value: UInt64) -> SQLiteValue { .integer(Int64(clamping: value)) }
}

extension Row {
    func time(_ column: Int) throws(SQLiteError) -> Duration { .nanoseconds(try integer(column)) }

    func bits(_ column: Int) throws(SQLiteError) -> UInt64 { UInt64(bitPattern: try integer(column)) }

    func feature(_ column: Int) throws -> FeatureID {
        let text = try text(column)
        guard let feature = FeatureID(text) else {
            throw JournalFailure(.unavailable, "The journal holds '\(text)' where a feature's name was expected.")
        }
        return feature
    }
}

/// Two truths in one column.
struct MarkFlags {
    var hasLabels: Bool
    var hasUnheard: Bool

    var number: Int64 { (hasLabels ? 1 : 0) | (hasUnheard ? 2 : 0) }

    init(_ number: Int64) {
        hasLabels = number & 1 != 0
        hasUnheard = number & 2 != 0
    }

    init(_ marks: StoreMarks) {
        hasLabels = marks.hasLabels
        hasUnheard = marks.hasUnheard
    }

    init(_ marks: SessionMarks) {
        hasLabels = marks.hasLabels
        hasUnheard = marks.hasUnheard
    }
}

extension ReceiptKey {
    /// The two columns that make it unique inside its session.
    var columns: (scope: String, name: SQLiteValue) {
        switch self {
        case .key(let key, let feature): ("k\(feature.text)", .text(key))
        case .sequence(let number, let epoch): ("s\(epoch)", .bits(number))
        }
    }
}
