/// The lines of a YAML file in block style with two spaces per level.
struct YAMLLines {
    private var lines: [String]

    init(_ text: String) {
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    var text: String { lines.joined(separator: "\n") }

    subscript(range: Range<Int>) -> ArraySlice<String> { lines[range] }

    /// Returns the lines of the member that begins with a line, with its value, without empty lines at the end. A
    /// missing line is a fault of the file that tests find.
    func block(_ header: String, under parent: String? = nil) -> Range<Int> {
        let range = parent.map { block($0) } ?? lines.indices
        guard let start = lines[range].firstIndex(of: header) else {
            preconditionFailure("openapi.yaml has no line '\(header)'")
        }
        let depth = Self.depth(header)
        let below = lines[(start + 1)..<range.upperBound]
        var end = below.firstIndex { !$0.isEmpty && Self.depth($0) <= depth } ?? range.upperBound
        while lines[end - 1].isEmpty { end -= 1 }
        return start..<end
    }

    mutating func replace(_ range: Range<Int>, by new: [String]) { lines.replaceSubrange(range, with: new) }

    mutating func insert(_ new: [String], below header: String) {
        lines.insert(contentsOf: new, at: block(header).upperBound)
    }

    /// Replaces a text in a member.
    mutating func change(_ header: String, under parent: String, _ old: String, to new: String) {
        for index in block(header, under: parent) { lines[index] = lines[index].replacing(old, with: new) }
    }

    private static func depth(_ line: String) -> Int { line.utf8.prefix { $0 == UInt8(ascii: " ") }.count }
}
