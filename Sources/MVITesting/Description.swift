/// A value as text over several lines, one member a line, so that two can be compared line by line. Short values stay
/// on one line.
func describe(_ value: some Any) -> String {
    lines(of: value, depth: 0).joined(separator: "\n")
}

/// How long a value's text may be to stay on one line.
private let lineLimit = 80
/// Deeper members are cut off, so that a graph with cycles ends.
private let depthLimit = 16

private func lines(of value: Any, depth: Int) -> [String] {
    if depth > depthLimit { return ["…"] }
    if let text = value as? String { return [String(reflecting: text)] }
    if let text = value as? Character { return [String(reflecting: text)] }
    let mirror = Mirror(reflecting: value)
    switch mirror.displayStyle {
    case .optional:
        return mirror.children.first.map { lines(of: $0.value, depth: depth) } ?? ["nil"]
    case .enum:
        guard let payload = mirror.children.first else { return [".\(value)"] }
        let name = "." + (payload.label ?? "")
        // Several associated values are one tuple; one with a label is a tuple too.
        let tuple = Mirror(reflecting: payload.value)
        let members = tuple.displayStyle == .tuple ? Array(tuple.children) : [(nil, payload.value)]
        return wrap(name + "(", members.map { member($0.label, $0.value, depth) }, ")")
    case .tuple:
        return wrap("(", mirror.children.map { member($0.label, $0.value, depth) }, ")")
    case .collection:
        return wrap("[", mirror.children.map { lines(of: $0.value, depth: depth + 1) }, "]")
    case .set:
        return wrap("Set([", mirror.children.map { lines(of: $0.value, depth: depth + 1) }.sorted(by: <), "])")
    case .dictionary:
        let entries = mirror.children.map { child -> [String] in
            let entry = Array(Mirror(reflecting: child.value).children)
            guard entry.count == 2 else { return ["\(child.value)"] }
            let key = lines(of: entry[0].value, depth: depth + 1).joined(separator: " ")
            return prefixed("\(key): ", lines(of: entry[1].value, depth: depth + 1))
        }
        return entries.isEmpty ? ["[:]"] : wrap("[", entries.sorted(by: <), "]")
    case .struct, .class, .foreignReference:
        if mirror.children.isEmpty || value is any CustomStringConvertible { return ["\(value)"] }
        return wrap("\(type(of: value))(", mirror.children.map { member($0.label, $0.value, depth) }, ")")
    case nil:
        return ["\(value)"]
    @unknown default:
        return ["\(value)"]
    }
}

private func member(_ label: String?, _ value: Any, _ depth: Int) -> [String] {
    let value = lines(of: value, depth: depth + 1)
    // Associated values without a label are called `.0`, `.1` by the mirror.
    guard let label, !label.hasPrefix(".") else { return value }
    return prefixed("\(label): ", value)
}

private func prefixed(_ prefix: String, _ lines: [String]) -> [String] {
    [prefix + (lines.first ?? "")] + lines.dropFirst()
}

private func wrap(_ opening: String, _ members: [[String]], _ closing: String) -> [String] {
    let isShort = members.allSatisfy { $0.count == 1 }
    let line = opening + members.map { $0.joined() }.joined(separator: ", ") + closing
    if isShort, line.count <= lineLimit { return [line] }
    var result = [opening]
    for member in members {
        result += member.dropLast().map { "    " + $0 }
        result.append("    " + (member.last ?? "") + ",")
    }
    return result + [closing]
}

private func < (left: [String], right: [String]) -> Bool { left.lexicographicallyPrecedes(right) }
