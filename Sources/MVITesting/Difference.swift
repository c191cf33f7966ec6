/// Returns the lines in which two texts differ: `-` is expected, `+` is actual. Equal lines are shown only near
/// different ones.
func difference(expected: String, actual: String) -> String {
    difference(Description(text: expected), Description(text: actual))
}

/// Returns the members in which two values differ: `-` is expected, `+` is actual. Elements of lists have their index,
/// and equal elements are omitted. Other equal members are shown only near different ones.
func difference<Value>(expected: Value, actual: Value) -> String {
    difference(Description(of: expected), Description(of: actual))
}

private func difference(_ expected: Description, _ actual: Description) -> String {
    let lines = expected == actual ? [.left(out: "")] : comparison(expected, actual, Pair(), "", end: "")
    return lines.map { "  \($0.mark) \($0.text)" }.joined(separator: "\n")
}

private struct Line {
    let mark: Character
    let text: String

    /// Returns the line that stands for omitted equal members.
    static func left(out indentation: String) -> Line { Line(mark: " ", text: indentation + "…") }
}

/// Returns the lines of two members that differ.
///
/// - Parameters:
///   - places: the indices in a list; none for other members.
///   - end: the end of the last line.
private func comparison(
    _ before: Description, _ after: Description, _ places: Pair, _ indentation: String, end: String
) -> [Line] {
    let isOneLine = before.line != nil && after.line != nil
    guard !isOneLine, before.opening == after.opening, before.closing == after.closing else {
        return marked("-", before, Pair(before: places.before), indentation, end)
            + marked("+", after, Pair(after: places.after), indentation, end)
    }
    let isText = after.content == .lines
    let inner = memberLines(before, after, indentation: isText ? indentation : indentation + "    ")
    if isText { return inner }
    let opening = Line(mark: " ", text: indentation + places.index + after.label + after.opening)
    return [opening] + inner + [Line(mark: " ", text: indentation + after.closing + end)]
}

private func marked(
    _ mark: Character, _ member: Description, _ places: Pair, _ indentation: String, _ end: String
) -> [Line] {
    var lines = member.lines(endingWith: end)
    lines[0] = places.index + lines[0]
    return lines.map { Line(mark: mark, text: indentation + $0) }
}

/// The number of equal members that are shown before and after a different one.
private let context = 3

private func memberLines(_ before: Description, _ after: Description, indentation: String) -> [Line] {
    let pairs = pairs(before, after)
    let isEqual = pairs.map { pair in
        if let old = pair.before, let new = pair.after { before.members[old] == after.members[new] } else { false }
    }
    let content = after.content
    let hasContext = content == .members || content == .lines
    let end = content == .lines ? "" : ","
    var lines: [Line] = []
    var isLeavingOut = false
    for (place, pair) in pairs.enumerated() {
        let (old, new) = (pair.before.map { before.members[$0] }, pair.after.map { after.members[$0] })
        if isEqual[place], let new {
            let near = max(0, place - context)...min(place + context, pairs.count - 1)
            let isShown = hasContext && new.line != nil && !isEqual[near].allSatisfy { $0 }
            if isShown {
                lines += marked(" ", new, Pair(), indentation, end)
            } else if !isLeavingOut {
                lines.append(.left(out: indentation))
            }
            isLeavingOut = !isShown
            continue
        }
        isLeavingOut = false
        let places = content == .list ? pair : Pair()
        switch (old, new) {
        case (let old?, let new?): lines += comparison(old, new, places, indentation, end: end)
        case (let old?, nil): lines += marked("-", old, places, indentation, end)
        case (nil, let new?): lines += marked("+", new, places, indentation, end)
        case (nil, nil): break
        }
    }
    return lines
}

/// The indices of two compared members. A member without a counterpart was removed or inserted.
private struct Pair {
    var before: Int?
    var after: Int?

    /// Both indices, if they differ.
    var index: String {
        if let before, let after, before != after { return "[\(before) → \(after)]: " }
        return (after ?? before).map { "[\($0)]: " } ?? ""
    }
}

private func pairs(_ before: Description, _ after: Description) -> [Pair] {
    let (old, new) = (before.keys, after.keys)
    var removed: Set<Int> = []
    var inserted: Set<Int> = []
    for change in new.difference(from: old) {
        switch change {
        case .remove(let place, _, _): removed.insert(place)
        case .insert(let place, _, _): inserted.insert(place)
        }
    }
    var pairs: [Pair] = []
    var (left, right) = (0, 0)
    while left < old.count || right < new.count {
        let gone = Array((left..<old.count).prefix { removed.contains($0) })
        let come = Array((right..<new.count).prefix { inserted.contains($0) })
        // Elements without an id at the same position count as one that has changed.
        let isChange: (Int, Int) -> Bool = { before.members[$0].id == nil && after.members[$1].id == nil }
        let changed = after.content == .list ? Array(zip(gone, come).prefix { isChange($0, $1) }) : []
        pairs += changed.map { Pair(before: $0, after: $1) }
        pairs += gone.dropFirst(changed.count).map { Pair(before: $0) }
        pairs += come.dropFirst(changed.count).map { Pair(after: $0) }
        (left, right) = (left + gone.count, right + come.count)
        if left < old.count, right < new.count {
            pairs.append(Pair(before: left, after: right))
            (left, right) = (left + 1, right + 1)
        }
    }
    return pairs
}

extension Description {
    /// The texts that identify members in another value.
    fileprivate var keys: [String] {
        switch content {
        case .members, .entries: members.map(\.label)
        case .list: members.map { $0.id ?? $0.text }
        case .set, .lines: members.map(\.text)
        }
    }
}
