/// A line of the table, in parts of different styles.
struct TableLine: Sendable, Hashable {
    /// The style of a part on a color terminal.
    enum Style: Sendable, Hashable {
        case plain, strong, dim, good, warning, bad
        /// The table's head.
        case head
    }

    struct Part: Sendable, Hashable {
        var text: String
        var style: Style
    }

    public private(set) var parts: [Part] = []

    init() {}

    init(_ text: String, _ style: Style = .plain) { add(text, style) }

    mutating func add(_ text: String, _ style: Style = .plain) {
        // Text of a server must not move the cursor or change the terminal.
        let shown = String(text.map { $0.unicodeScalars.allSatisfy(Self.isShown) ? $0 : "?" })
        parts.append(Part(text: shown, style: style))
    }

    func adding(_ text: String, _ style: Style = .plain) -> TableLine {
        var line = self
        line.add(text, style)
        return line
    }

    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }

    /// The text without styles.
    var text: String {
        var text = parts.map(\.text).joined()
        while text.last == " " { text.removeLast() }
        return text
    }

    /// The text for a terminal.
    ///
    /// - Parameters:
    ///   - width: the number of columns, after which the line is cut. Each character counts as one.
    ///   - hasColours: true to add escape sequences for colors.
    func terminal(width: Int, hasColours: Bool) -> String {
        var left = max(0, width)
        var shown = ""
        for part in parts where left > 0 {
            let text = String(part.text.prefix(left))
            left -= text.count
            guard hasColours, part.style != .plain else {
                shown += text
                continue
            }
            shown += "\u{1B}[\(part.style.code)m\(text)\u{1B}[0m"
        }
        return shown
    }
}

extension TableLine.Style {
    /// Select Graphic Rendition (ECMA-48 section 8.3.117).
    fileprivate var code: String {
        switch self {
        case .plain: "0"
        case .strong: "1"
        case .dim: "2"
        case .good: "32"
        case .warning: "33"
        case .bad: "1;31"
        case .head: "7"
        }
    }
}

extension String {
    /// Pads the text on the left to a minimal width.
    func right(_ width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }

    /// Pads the text on the right, or cuts it, to a width.
    func left(_ width: Int) -> String {
        count > width ? String(prefix(max(0, width - 1))) + "…" : self + String(repeating: " ", count: width - count)
    }
}
