import MVI
import MVIServer
import MicroHTTP
import SessionJournal

extension FuzzTarget {
    /// A request's target: its parts, its route and its percent-encoding.
    static let paths = FuzzTarget(name: "paths") { input throws(BrokenProperty) in
        try id(input[...])
        guard let target = input.withUnsafeBufferPointer({ RequestTarget($0) }) else { return }
        let query = target.query.map { [UInt8(ascii: "?")] + $0 } ?? []
        if target.authority == nil {
            try hold(target.path + query == input, "a target's parts are not the target")
        } else {
            try hold(input.reversed().starts(with: query.reversed()), "a target ends in another query")
        }
        try hold(!target.path.contains(UInt8(ascii: "?")), "a path has a query")
        for pattern in patterns { try match(pattern, target.path) }
        try decode(target.path)
        try items(target.query)
    }

    private struct Pattern: Sendable {
        let head: [UInt8]
        let tail: [UInt8]
        let pattern: PathPattern

        init(_ template: String) {
            let parts = template.split(separator: "{id}", omittingEmptySubsequences: false)
            (head, tail) = (Array(parts[0].utf8), Array(parts[1].utf8))
            pattern = PathPattern(template)
        }
    }

    private static let patterns = [
        "/features/{id}", "/features/{id}/state", "/features/{id}/intents", "/features/{id}/events", "/problems/{id}",
    ].map(Pattern.init)

    private static func match(_ pattern: Pattern, _ path: [UInt8]) throws(BrokenProperty) {
        switch pattern.pattern.match(path) {
        case .exact: throw BrokenProperty("a path without a parameter has a route with one")
        case .no:
            let rest = path.dropFirst(pattern.head.count).dropLast(pattern.tail.count)
            let isOne = path.starts(with: pattern.head) && path.reversed().starts(with: pattern.tail.reversed())
            try hold(!isOne || rest.isEmpty || rest.contains(UInt8(ascii: "/")), "a path's route is not found")
        case .parameter(let range):
            try hold(!range.isEmpty && !path[range].contains(UInt8(ascii: "/")), "a parameter has a slash")
            try hold(pattern.head + path[range] + pattern.tail == path, "a path has another path's route")
            if let text = PercentEncoding.decode(path[range]) { try id(ArraySlice(text.utf8)) }
        }
    }

    /// Checks that a feature id is its name and its key, and needs no escapes in a path, in JSON and in a line.
    private static func id(_ bytes: ArraySlice<UInt8>) throws(BrokenProperty) {
        guard let id = FeatureID(bytes) else { return }
        try hold(id.text.utf8.elementsEqual(bytes), "a feature id is another text")
        try hold(FeatureID(name: id.name, key: id.key) == id, "a feature id is not its name and its key")
        let isPlain = bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"\"\\/%?#".utf8.contains($0) }
        try hold(isPlain, "a feature id needs escapes")
    }

    private static func decode(_ path: [UInt8]) throws(BrokenProperty) {
        let reference = PercentEncoding.reference(path)
        try hold(
            reference.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"\"<>\\^`{|}".utf8.contains($0) },
            "a reference has a byte that no URI has")
        let percent = UInt8(ascii: "%")
        if !path.contains(percent), path.count <= 256, let text = String(validating: path, as: UTF8.self) {
            let decoded = PercentEncoding.decode(Array(reference.utf8))
            try hold(decoded?.utf8.elementsEqual(text.utf8) == true, "a reference names another path")
        }
        guard let text = PercentEncoding.decode(path) else { return }
        try hold(text.utf8.count <= path.count, "a text is longer than its encoding")
        try hold(PercentEncoding.decode(encode(text)) == text, "a text changes when it is encoded again")
    }

    private static func encode(_ text: String) -> [UInt8] {
        text.utf8.flatMap { byte in
            let digits = Array("0123456789abcdef".utf8)
            return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
    }

    private static func items(_ query: [UInt8]?) throws(BrokenProperty) {
        let items = QueryItems(query)
        for name in ["feature", "last_event_id"] {
            let values = items.values(name)
            let again = values.map { value in
                Array("\(name)".utf8) + (value.map { [UInt8(ascii: "=")] + encode($0) } ?? [])
            }
            let written = Array(again.joined(separator: [UInt8(ascii: "&")]))
            try hold(QueryItems(written).values(name) == values, "a query's values change when they are written")
        }
    }
}
