/// One value of Prometheus' text format.
struct MetricSample: Hashable, Sendable {
    var name: String
    var labels: [String: String]
    var value: Double

    init(_ name: String, labels: [String: String] = [:], _ value: Double) {
        (self.name, self.labels, self.value) = (name, labels, value)
    }
}

/// Parses Prometheus' text format (https://prometheus.io/docs/instrumenting/exposition_formats/) for its values:
/// comments, timestamps and exemplars are ignored.
enum MetricsText {
    /// Returns the values of a text, in order. Malformed lines are ignored.
    static func read(_ text: String) -> [MetricSample] {
        text.utf8.split(separator: UInt8(ascii: "\n")).compactMap { line in
            var reader = LineReader(line)
            return reader.sample()
        }
    }

    private struct LineReader {
        private var rest: Substring.UTF8View

        init(_ line: Substring.UTF8View) { rest = line }

        mutating func sample() -> MetricSample? {
            skipBlanks()
            guard let name = word(), !name.isEmpty else { return nil }
            var labels: [String: String] = [:]
            if rest.first == UInt8(ascii: "{") {
                rest.removeFirst()
                guard let read = self.labels() else { return nil }
                labels = read
            }
            skipBlanks()
            let text = rest.prefix { !Self.isBlank($0) }
            guard let value = Double(String(decoding: text, as: UTF8.self)) else { return nil }
            return MetricSample(name, labels: labels, value)
        }

        private mutating func labels() -> [String: String]? {
            var labels: [String: String] = [:]
            while true {
                skipBlanks()
                guard let next = rest.first else { return nil }
                if next == UInt8(ascii: "}") {
                    rest.removeFirst()
                    return labels
                }
                guard let name = word(), !name.isEmpty else { return nil }
                skipBlanks()
                guard rest.popFirst() == UInt8(ascii: "=") else { return nil }
                skipBlanks()
                guard rest.popFirst() == UInt8(ascii: "\""), let value = quoted() else { return nil }
                labels[name] = value
                skipBlanks()
                if rest.first == UInt8(ascii: ",") { rest.removeFirst() }
            }
        }

        /// Reads `[a-zA-Z_:][a-zA-Z0-9_:]*`; nil for a comment and other text.
        private mutating func word() -> String? {
            let bytes = rest.prefix { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: ":"):
                    true
                default: false
                }
            }
            guard let first = bytes.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return nil }
            rest = rest.dropFirst(bytes.count)
            return String(decoding: bytes, as: UTF8.self)
        }

        /// Reads the text before the closing quote.
        private mutating func quoted() -> String? {
            var bytes: [UInt8] = []
            while let byte = rest.popFirst() {
                switch byte {
                case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
                case UInt8(ascii: "\\"):
                    switch rest.popFirst() {
                    case UInt8(ascii: "n")?: bytes.append(UInt8(ascii: "\n"))
                    case let escaped?: bytes.append(escaped)
                    case nil: return nil
                    }
                default: bytes.append(byte)
                }
            }
            return nil
        }

        private mutating func skipBlanks() { rest = rest.drop(while: Self.isBlank) }

        private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
    }
}
