/// A metric with all its series. Protected by the registry's lock.
final class Family {
    enum Kind: String {
        case counter, gauge, histogram
    }

    var kind = Kind.counter
    var help: String?
    /// The upper bounds of the buckets; nil for the default ones.
    var buckets: [Double]?
    var series: [LabelSet: any Series] = [:]

    /// The content to write; nil if the metric has no series.
    var snapshot: Snapshot? {
        guard !series.isEmpty else { return nil }
        return Snapshot(kind: kind, help: help, series: series.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 })
    }

    struct Snapshot {
        let kind: Kind
        let help: String?
        let series: [(labels: LabelSet, value: any Series)]

        func append(to text: inout String, _ name: String) {
            if let help { text += "# HELP \(name) \(MetricName.escapedHelp(help))\n" }
            text += "# TYPE \(name) \(kind.rawValue)\n"
            for (labels, value) in series { value.append(to: &text, name, labels) }
        }
    }
}

/// The labels of a series in the text format, sorted by name.
struct LabelSet: Hashable, Comparable {
    /// `a="1",b="2"`; empty without labels.
    let text: String

    init(_ dimensions: [(String, String)]) {
        text = dimensions.sorted { $0.0 < $1.0 }
            .map { "\(MetricName.label($0.0))=\"\(MetricName.escapedValue($0.1))\"" }
            .joined(separator: ",")
    }

    static func < (left: LabelSet, right: LabelSet) -> Bool { left.text < right.text }

    /// Returns the labels in braces, with one more label.
    func with(_ name: String, _ value: String) -> String {
        "{\(text)\(text.isEmpty ? "" : ",")\(name)=\"\(value)\"}"
    }

    var braced: String { text.isEmpty ? "" : "{\(text)}" }
}

/// Converts names and texts to the text format.
enum MetricName {
    static func plain(_ label: String) -> String { clean(label, isColonFine: true) }

    static func counter(_ label: String) -> String { ending(plain(label), "_total") }

    static func timer(_ label: String) -> String { ending(plain(label), "_seconds") }

    static func label(_ name: String) -> String { clean(name, isColonFine: false) }

    private static func ending(_ name: String, _ suffix: String) -> String {
        name.hasSuffix(suffix) ? name : name + suffix
    }

    /// Replaces characters outside `[a-zA-Z_][a-zA-Z0-9_]*`, with `:` also allowed in a metric's name.
    private static func clean(_ text: String, isColonFine: Bool) -> String {
        var clean = String(
            text.unicodeScalars.map { scalar -> Character in
                switch scalar {
                case "a"..."z", "A"..."Z", "0"..."9", "_": Character(scalar)
                case ":" where isColonFine: ":"
                default: "_"
                }
            })
        if clean.first.map(\.isNumber) ?? true { clean = "_" + clean }
        return clean
    }

    static func escapedValue(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 == 0x5C || $0 == 0x22 || $0 == 0x0A }) else { return text }
        return text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }

    static func escapedHelp(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
    }

    /// Formats a value; whole numbers have no fraction.
    static func number(_ value: Double) -> String {
        switch value {
        case .infinity: "+Inf"
        case -.infinity: "-Inf"
        case _ where value.isNaN: "NaN"
        case _ where value == value.rounded() && abs(value) < 1e15: "\(Int64(value))"
        default: "\(value)"
        }
    }
}
