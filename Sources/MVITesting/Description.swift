/// Returns a value as text, with one line per member. Short values stay on one line.
func describe(_ value: some Any) -> String { Description(of: value).lines().joined(separator: "\n") }

/// The text of a value and of its members, for comparisons member by member.
struct Description: Equatable {
    enum Content {
        /// Members, identified by their names or positions.
        case members
        case list, set
        case entries
        /// The lines of a text.
        case lines
    }

    /// The member's name or the entry's key, with a colon; empty for others.
    var label = ""
    /// The text before the members, or the whole text if there are none.
    let opening: String
    let closing: String
    let members: [Description]
    let content: Content
    /// The text of the value's id; nil without an id.
    private(set) var id: String?
    /// The whole text without the label, if it fits on one line.
    let line: String?

    private init(_ text: String) {
        (opening, closing, members, content, line) = (text, "", [], .members, text)
    }

    private init(_ opening: String, _ content: Content, _ members: [Description], _ closing: String) {
        (self.opening, self.closing, self.members, self.content) = (opening, closing, members, content)
        let texts = members.compactMap { member in member.line.map { member.label + $0 } }
        let line = opening + texts.joined(separator: ", ") + closing
        self.line = texts.count == members.count && line.count <= Self.lineLimit ? line : nil
    }

    /// Describes a text, whose lines are compared.
    init(text: String) {
        (opening, closing, content, line) = ("", "", .lines, nil)
        members = text.split(separator: "\n", omittingEmptySubsequences: false).map { Description(String($0)) }
    }

    /// Describes a value.
    init(of value: Any) {
        self.init(value, depth: 0)
    }

    /// The maximum length of a value's text on one line.
    private static let lineLimit = 80
    /// Deeper members are cut off, so that cyclic graphs terminate.
    private static let depthLimit = 16

    private init(_ value: Any, depth: Int) {
        self = Self.make(value, depth)
        if let value = value as? any Identifiable { id = Self.id(of: value) }
    }

    private static func make(_ value: Any, _ depth: Int) -> Description {
        if depth > depthLimit { return Description("…") }
        if let text = value as? String { return Description(String(reflecting: text)) }
        if let text = value as? Character { return Description(String(reflecting: text)) }
        let mirror = Mirror(reflecting: value)
        func member(_ child: Mirror.Child) -> Description {
            var member = Description(child.value, depth: depth + 1)
            // The mirror names associated values without a label `.0`, `.1`.
            if let label = child.label, !label.hasPrefix(".") { member.label = "\(label): " }
            return member
        }
        func elements() -> [Description] { mirror.children.map { Description($0.value, depth: depth + 1) } }
        switch mirror.displayStyle {
        case .optional:
            return mirror.children.first.map { Description($0.value, depth: depth) } ?? Description("nil")
        case .enum:
            guard let payload = mirror.children.first else { return Description(".\(value)") }
            // Several associated values are one tuple; so is one value with a label.
            let tuple = Mirror(reflecting: payload.value)
            let members = tuple.displayStyle == .tuple ? Array(tuple.children) : [(nil, payload.value)]
            return Description(".\(payload.label ?? "")(", .members, members.map(member), ")")
        case .tuple:
            return Description("(", .members, mirror.children.map(member), ")")
        case .collection:
            return Description("[", .list, elements(), "]")
        case .set:
            return Description("Set([", .set, elements().sorted { $0.text < $1.text }, "])")
        case .dictionary:
            let entries = mirror.children.map { child -> Description in
                let entry = Array(Mirror(reflecting: child.value).children)
                guard entry.count == 2 else { return Description("\(child.value)") }
                var value = Description(entry[1].value, depth: depth + 1)
                value.label = Description(entry[0].value, depth: depth + 1).lines().joined(separator: " ") + ": "
                return value
            }
            return entries.isEmpty
                ? Description("[:]") : Description("[", .entries, entries.sorted { $0.text < $1.text }, "]")
        case .struct, .class, .foreignReference:
            if mirror.children.isEmpty || value is any CustomStringConvertible { return Description("\(value)") }
            return Description("\(type(of: value))(", .members, mirror.children.map(member), ")")
        case nil:
            return Description("\(value)")
        @unknown default:
            return Description("\(value)")
        }
    }

    private static func id(of value: some Identifiable) -> String { describe(value.id) }

    /// Returns the lines of the text.
    func lines() -> [String] {
        if let line { return [label + line] }
        if content == .lines { return members.flatMap { $0.lines() } }
        return [label + opening] + members.flatMap { $0.lines(endingWith: ",").map { "    " + $0 } } + [closing]
    }

    /// Returns the lines of the text as a member.
    func lines(endingWith end: String) -> [String] {
        var lines = lines()
        lines[lines.count - 1] += end
        return lines
    }

    var text: String { lines().joined(separator: "\n") }
}
