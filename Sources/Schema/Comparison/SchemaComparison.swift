/// Finds the changes between two builds of a server that break installed apps.
///
/// A value is written by one build's types and read by the other's: states and labels by the app's old types, intents by
/// the server's new ones. A change breaks if a value may be written that cannot be read. Readers ignore unknown members.
package struct SchemaComparison {
    /// True if the apps' types read unknown cases of enums in states and labels.
    let openEnums: Bool

    package init(openEnums: Bool) { self.openEnums = openEnums }

    /// Returns a line for each change, by feature.
    package func breakingChanges(from old: SchemaDocuments, to new: SchemaDocuments) -> [String] {
        old.features.sorted { $0.key < $1.key }.flatMap { name, before -> [String] in
            guard let after = new.features[name] else { return ["\(name): The feature is gone."] }
            var state = Pass(writer: after, reader: before, isSent: false, isOpen: openEnums)
            state.compare("State")
            var label = Pass(writer: after, reader: before, isSent: false, isOpen: openEnums, ignoresNewCases: true)
            label.compare("Label")
            var intent = Pass(writer: before, reader: after, isSent: true, isOpen: false)
            intent.compare("Intent")
            let keys =
                (before.isKeyed ?? false) == (after.isKeyed ?? false)
                ? [] : [after.isKeyed == true ? "Its stores have a key now." : "Its stores have no key any more."]
            return (keys + state.findings + label.findings + intent.findings).map { "\(name): \($0)" }
        }
    }
}

/// The comparison of one of a feature's three types.
private struct Pass {
    typealias Documents = SchemaDocuments.Feature

    let writer: Documents
    let reader: Documents
    /// True for intents, which an app writes with its old types.
    let isSent: Bool
    let isOpen: Bool
    /// True for labels: a client leaves out those that it cannot read.
    var ignoresNewCases = false
    var findings: [String] = []
    /// The compared pairs of definitions; types may contain themselves.
    private var seen: Set<[String]> = []

    init(writer: Documents, reader: Documents, isSent: Bool, isOpen: Bool, ignoresNewCases: Bool = false) {
        (self.writer, self.reader, self.isSent, self.isOpen) = (writer, reader, isSent, isOpen)
        self.ignoresNewCases = ignoresNewCases
    }

    mutating func compare(_ root: String) {
        guard let written = writer.definitions[root], let read = reader.definitions[root] else { return }
        // The first label of a feature: older apps leave it out.
        if ignoresNewCases, read.not != nil { return }
        compare(written, read, at: root.lowercased(), isRoot: true)
    }

    private mutating func report(_ place: String, received: String, sent: String) {
        findings.append("\(place) \(isSent ? sent : received).")
    }

    private mutating func compare(
        _ written: SchemaNode, _ read: SchemaNode, at place: String, isRoot: Bool = false
    ) {
        if let from = written.reference, let to = read.reference {
            guard seen.insert([from, to]).inserted else { return }
        }
        let (written, writtenNull) = Self.form(of: written, in: writer)
        let (read, readNull) = Self.form(of: read, in: reader)
        if written.not != nil || read.isAny { return }
        if writtenNull, !readNull { report(place, received: "can be null", sent: "cannot be null any more") }
        let (from, to) = (written.kind, read.kind)
        guard from == to || (from, to) == ("an integer", "a number") else {
            return report(place, received: "was \(to) and is \(from)", sent: "was \(from) and is \(to)")
        }
        switch from {
        case "an object": compareMembers(written, read, at: place)
        case "one of several objects": compareCases(written, read, at: place, isRoot: isRoot)
        case "one of several values": compareValues(written, read, at: place)
        case "a list":
            if let item = written.items, let other = read.items { compare(item, other, at: "\(place)/*") }
        case "a dictionary":
            if let value = written.additionalProperties, let other = read.additionalProperties {
                compare(value, other, at: "\(place)/*")
            }
        default: compareScalars(written, read, at: place)
        }
    }

    private mutating func compareMembers(_ written: SchemaNode, _ read: SchemaNode, at place: String) {
        let (always, needed) = (Set(written.required ?? []), Set(read.required ?? []))
        for (name, member) in (read.properties ?? [:]).sorted(by: { $0.key < $1.key }) where member.const == nil {
            let path = "\(place)/\(name)"
            if needed.contains(name), !always.contains(name) {
                let isWritten = written.properties?[name] != nil
                report(
                    path, received: isWritten ? "can be absent" : "is gone",
                    sent: isWritten ? "is required" : "is new and required")
                // In intents null counts as absent.
                if isSent { continue }
            }
            if let own = written.properties?[name] { compare(own, member, at: path) }
        }
    }

    private mutating func compareCases(
        _ written: SchemaNode, _ read: SchemaNode, at place: String, isRoot: Bool
    ) {
        let known = Dictionary((read.oneOf ?? []).map { ($0.caseName, $0) }) { first, _ in first }
        for one in written.oneOf ?? [] {
            let path = "\(place)(\(one.caseName))"
            if let other = known[one.caseName] {
                compareMembers(one, other, at: path)
            } else if !isOpen, !(ignoresNewCases && isRoot) {
                report(path, received: "is a new case", sent: "is gone")
            }
        }
    }

    private mutating func compareValues(_ written: SchemaNode, _ read: SchemaNode, at place: String) {
        guard !isOpen else { return }
        let known = Set((read.values ?? []).map(\.text))
        for value in written.values ?? [] where !known.contains(value.text) {
            report(place, received: "has a new value \(value.text)", sent: "has no value \(value.text) any more")
        }
    }

    private mutating func compareScalars(_ written: SchemaNode, _ read: SchemaNode, at place: String) {
        if let format = read.format, format != written.format, read.kind == "a text" {
            let other = written.format ?? "any text"
            report(place, received: "was \(format) and is \(other)", sent: "was \(other) and is \(format)")
        }
        guard read.kind == "an integer" else { return }
        let (own, other) = (written.range, read.range)
        if own.lowerBound < other.lowerBound || own.upperBound > other.upperBound {
            report(place, received: "has a wider range", sent: "has a narrower range")
        }
    }

    /// Follows references and separates `null`.
    private static func form(of node: SchemaNode, in documents: Documents) -> (SchemaNode, isNullable: Bool) {
        var (node, isNullable) = (node, false)
        // An alias of an alias may lead in a circle in a file that was edited.
        for _ in 0..<64 {
            if let reference = node.reference?.split(separator: "/").last.map(String.init),
                let next = documents.definitions[reference]
            {
                node = next
            } else if let first = node.anyOf?.first {
                (node, isNullable) = (first, true)
            } else {
                break
            }
        }
        return (node, isNullable || node.type?.all.contains("null") == true)
    }
}

extension SchemaNode {
    /// True for a schema that any value fits.
    fileprivate var isAny: Bool { kind == "any value" }

    fileprivate var caseName: String { properties?["type"]?.const ?? "" }

    /// The values in words.
    fileprivate var kind: String {
        if oneOf != nil { return "one of several objects" }
        if values != nil { return "one of several values" }
        if not != nil { return "nothing" }
        switch type?.all.first {
        case "object": return additionalProperties == nil ? "an object" : "a dictionary"
        case "array": return "a list"
        case "string": return "a text"
        case "integer": return "an integer"
        case "number": return "a number"
        case "boolean": return "a boolean"
        default: return "any value"
        }
    }

    fileprivate var range: ClosedRange<Int128> {
        switch format {
        case "int64": return Int128(Int64.min)...Int128(Int64.max)
        case "uint64": return 0...Int128(UInt64.max)
        default:
            let low = minimum.map { Int128($0) } ?? .min
            return low...max(low, maximum.map { Int128($0) } ?? .max)
        }
    }
}
