import Logging
import MicroHTTP

/// The format of a setting's values.
public struct SettingFormat<Value>: Sendable {
    /// The valid values, as the end of "expected …".
    package let expected: String
    /// Returns the value of a text; nil for an invalid text.
    package let parse: @Sendable (String) -> Value?
    package let print: @Sendable (Value) -> String
    /// True if messages must not repeat a given value.
    package let isSecret: Bool
    /// Returns true if a text contains a secret; nil if no text does.
    package let holdsSecret: (@Sendable (String) -> Bool)?
    /// The name of a value in `--help`.
    let valueName: String

    /// Creates a custom format.
    ///
    /// - Parameters:
    ///   - expected: the valid values, as the end of "expected …".
    ///   - isSecret: true if messages must not repeat a given value.
    ///   - parse: returns the value of a text; nil for an invalid text.
    ///   - print: returns the text of a value.
    public init(
        _ expected: String, isSecret: Bool = false, parse: @escaping @Sendable (String) -> Value?,
        print: @escaping @Sendable (Value) -> String
    ) {
        let always: @Sendable (String) -> Bool = { _ in true }
        self.init(expected, isSecret: isSecret, holdsSecret: isSecret ? always : nil, parse: parse, print: print)
    }

    package init(
        _ expected: String, isSecret: Bool = false, holdsSecret: (@Sendable (String) -> Bool)? = nil,
        valueName: String = "value", parse: @escaping @Sendable (String) -> Value?,
        print: @escaping @Sendable (Value) -> String
    ) {
        (self.expected, self.isSecret, self.holdsSecret) = (expected, isSecret, holdsSecret)
        (self.valueName, self.parse, self.print) = (valueName, parse, print)
    }

    /// The same format for an optional value; nil is an empty text.
    var orNone: SettingFormat<Value?> {
        SettingFormat<Value?>(
            expected, isSecret: isSecret, holdsSecret: holdsSecret, valueName: valueName,
            parse: { text in parse(text).map { .some($0) } }, print: { $0.map(print) ?? "" })
    }

    /// Returns the value of a given text.
    func value(_ text: String, of setting: SettingDeclaration) throws(SettingError) -> Value {
        if let value = parse(text) { return value }
        throw SettingError(
            name: setting.name,
            given: isSecret ? "a text of \(text.utf8.count) bytes" : SettingError.withoutPassword(text),
            expected: expected, prefix: setting.prefix)
    }
}

extension SettingFormat where Value == String {
    /// Any text.
    public static var text: SettingFormat {
        SettingFormat("a text", parse: { $0.isEmpty ? nil : $0 }, print: { $0 })
    }

    /// A text that messages and help do not show. The setting has a second form, `--name-file`, which names a file with
    /// the text. Other users of the machine see flags, so a secret in a flag is logged as a warning at the start.
    public static var secret: SettingFormat {
        SettingFormat("a text", isSecret: true, parse: { $0.isEmpty ? nil : $0 }, print: { $0 })
    }

    /// The URL of a database. It is not printed, because it may contain a password.
    package static var postgresURL: SettingFormat {
        SettingFormat(
            "a URL such as postgres://user@host:5432/name", holdsSecret: { $0.hasPassword },
            parse: { $0.hasPrefix("postgres://") || $0.hasPrefix("postgresql://") ? $0 : nil },
            print: { _ in "postgres" })
    }

    /// A name in a database, used unquoted: PostgreSQL truncates names to 63 bytes.
    package static var schemaName: SettingFormat {
        SettingFormat(
            "a lowercase letter, then lowercase letters, digits and _, at most 63, without the prefix pg_",
            parse: { text in
                let isName = text.utf8.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                        UInt8(ascii: "_"):
                        true
                    default: false
                    }
                }
                guard isName, let first = text.utf8.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first)
                else { return nil }
                return text.utf8.count <= 63 && !text.hasPrefix("pg_") ? text : nil
            }, print: { $0 })
    }

    /// An address at which other nodes reach this one.
    package static var nodeAddress: SettingFormat {
        SettingFormat(
            "a host and a port, such as 10.0.0.3:8080, [fd00::3]:8080 or node-3.example:8080",
            parse: { NodeAddress.isWellFormed($0) ? $0 : nil }, print: { $0 })
    }

    /// An address to listen on.
    package static var host: SettingFormat {
        SettingFormat(
            "an IPv4 or IPv6 address, such as 127.0.0.1, 0.0.0.0 or ::",
            parse: { text in
                let isAddress = text.utf8.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                        UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: "."), UInt8(ascii: ":"):
                        true
                    default: false
                    }
                }
                return isAddress && (text.contains(".") || text.contains(":")) ? text : nil
            }, print: { $0 })
    }
}

extension SettingFormat where Value: FixedWidthInteger & Sendable {
    /// A whole number.
    public static func number(_ range: ClosedRange<Value>) -> SettingFormat {
        SettingFormat(
            "a whole number from \(range.lowerBound) to \(range.upperBound)", valueName: "count",
            parse: { text in Value(text).flatMap { range.contains($0) ? $0 : nil } }, print: { "\($0)" })
    }
}

extension SettingFormat where Value == UInt32 {
    /// The permissions of a file.
    static var fileMode: SettingFormat {
        SettingFormat(
            "permissions of a file in octal digits, such as 0660",
            parse: { text in
                let isOctal = (3...4).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x37).contains($0) }
                return isOctal ? UInt32(text, radix: 8).flatMap { $0 <= 0o777 ? $0 : nil } : nil
            }, print: { "0" + String($0, radix: 8) })
    }
}

extension SettingFormat where Value == Int {
    /// A maximal number of things.
    static var limit: SettingFormat { .number(1...100_000_000) }

    /// A number of bytes.
    public static func bytes(_ range: ClosedRange<Int>) -> SettingFormat {
        let units = [("KiB", 1024), ("MiB", 1024 * 1024), ("GiB", 1024 * 1024 * 1024)]
        return SettingFormat(
            "a number of bytes from \(range.lowerBound) to \(range.upperBound), such as 65536, 64KiB or 1MiB",
            valueName: "bytes",
            parse: { text in
                let unit = units.first { text.hasSuffix($0.0) }
                guard let number = Int(unit == nil ? text[...] : text.dropLast(3)) else { return nil }
                let (bytes, overflows) = number.multipliedReportingOverflow(by: unit?.1 ?? 1)
                return overflows || !range.contains(bytes) ? nil : bytes
            },
            print: { bytes in
                let unit = units.last { bytes >= $0.1 && bytes.isMultiple(of: $0.1) }
                return unit.map { "\(bytes / $0.1)\($0.0)" } ?? "\(bytes)"
            })
    }
}

extension SettingFormat where Value == Duration {
    /// A duration.
    public static func time(_ range: ClosedRange<Duration>) -> SettingFormat { time(range, forever: nil) }

    /// A duration.
    ///
    /// - Parameter forever: the duration that `forever` stands for; nil if that is not a value.
    package static func time(_ range: ClosedRange<Duration>, forever: Duration?) -> SettingFormat {
        let units: [(String, Int64)] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)]
        let show: @Sendable (Duration) -> String = { time in
            if time == forever { return "forever" }
            let milliseconds = time.components.seconds * 1_000 + time.components.attoseconds / 1_000_000_000_000_000
            // A single day is 24h.
            let unit = units.last { name, size in
                milliseconds.isMultiple(of: size) && milliseconds >= (name == "d" ? 2 : 1) * size
            }
            return unit.map { "\(milliseconds / $0.1)\($0.0)" } ?? "0s"
        }
        return SettingFormat(
            "a time from \(show(range.lowerBound)) to \(show(range.upperBound)), such as 500ms, 20s (or 20), 5m, 24h or 7d"
                + (forever == nil ? "" : ", or forever"),
            valueName: "time",
            parse: { text in
                if let forever, text == "forever" { return forever }
                let unit = units.first { text.hasSuffix($0.0) }
                guard let number = Int64(text.dropLast(unit?.0.count ?? 0)) else { return nil }
                let (milliseconds, overflows) = number.multipliedReportingOverflow(by: unit?.1 ?? 1_000)
                guard !overflows else { return nil }
                let time = Duration.milliseconds(milliseconds)
                return range.contains(time) ? time : nil
            }, print: show)
    }
}

extension SettingFormat where Value: CaseIterable & RawRepresentable & Sendable, Value.RawValue == String {
    /// A raw value of an enum.
    public static var oneOf: SettingFormat {
        SettingFormat(
            "one of \(Value.allCases.map(\.rawValue).joined(separator: ", "))",
            parse: { Value(rawValue: $0) }, print: { $0.rawValue })
    }
}

extension SettingFormat where Value == Origin {
    package static var origin: SettingFormat {
        SettingFormat(
            "the address of a page without a path, such as https://app.example.com or http://localhost:3000",
            parse: { Origin(setting: $0) }, print: { $0.text })
    }
}

extension SettingFormat where Value == [AddressRange] {
    package static var addresses: SettingFormat {
        SettingFormat(
            "addresses separated by commas, such as 127.0.0.1 or 10.0.0.0/8,fd00::/8",
            parse: { text in
                let parts = text.split(separator: ",").map { AddressRange($0.trimmingSpaces) }
                let ranges = parts.compactMap { $0 }
                return ranges.count == parts.count ? ranges : nil
            }, print: { $0.map(\.description).joined(separator: ",") })
    }
}

extension SettingFormat where Value == [Origin] {
    package static var origins: SettingFormat {
        SettingFormat(
            "origins separated by commas, such as https://app.example.com,http://localhost:3000; '*' is not allowed, "
                + "because listed origins may act with a user's session",
            parse: { text in
                let parts = text.split(separator: ",").map { Origin(setting: $0.trimmingSpaces) }
                let origins = parts.compactMap { $0 }
                return origins.count == parts.count ? origins : nil
            }, print: { $0.map(\.text).joined(separator: ",") })
    }
}

extension Substring {
    fileprivate var trimmingSpaces: Substring {
        let head = drop { $0 == " " }
        return head.lastIndex { $0 != " " }.map { head[...$0] } ?? ""
    }
}

extension SettingFormat where Value == Bool {
    /// `true` or `false`. A flag of this format has no value and means `true`.
    public static var flag: SettingFormat {
        SettingFormat("true or false", parse: { Bool($0) }, print: { "\($0)" })
    }
}

extension String {
    /// True if a URL contains a password.
    var hasPassword: Bool {
        guard let start = firstRange(of: "://")?.upperBound else { return false }
        let authority = self[start...].prefix { !"/?#".contains($0) }
        let user = authority.lastIndex(of: "@").map { authority[..<$0] } ?? ""
        return user.contains(":") || self[start...].contains("password=")
    }
}
