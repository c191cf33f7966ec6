/// What differs between two texts, line by line: `-` is expected, `+` is what there is, and lines that are the same
/// are shown near those only.
func difference(expected: String, actual: String) -> String {
    let before = expected.split(separator: "\n", omittingEmptySubsequences: false)
    let after = actual.split(separator: "\n", omittingEmptySubsequences: false)
    var removed: Set<Int> = []
    var inserted: Set<Int> = []
    for change in after.difference(from: before) {
        switch change {
        case .remove(let offset, _, _): removed.insert(offset)
        case .insert(let offset, _, _): inserted.insert(offset)
        }
    }
    var marked: [(mark: Character, text: Substring)] = []
    var left = 0
    var right = 0
    while left < before.count || right < after.count {
        if removed.contains(left) {
            marked.append(("-", before[left]))
            left += 1
        } else if inserted.contains(right) {
            marked.append(("+", after[right]))
            right += 1
        } else {
            marked.append((" ", after[right]))
            left += 1
            right += 1
        }
    }
    return withoutDistantLines(marked).joined(separator: "\n")
}

/// How many equal lines are shown before and after one that differs.
private let context = 3

private func withoutDistantLines(_ lines: [(mark: Character, text: Substring)]) -> [String] {
    let changed = lines.indices.filter { lines[$0].mark != " " }
    var result: [String] = []
    var lastShown = -1
    for index in lines.indices {
        guard changed.contains(where: { abs($0 - index) <= context }) else { continue }
        if index > lastShown + 1 { result.append("    …") }
        result.append("  \(lines[index].mark) \(lines[index].text)")
        lastShown = index
    }
    if lastShown < lines.count - 1 { result.append("    …") }
    return result
}
