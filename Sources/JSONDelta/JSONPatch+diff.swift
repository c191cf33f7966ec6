import WireJSON

extension JSONPatch {
    /// The patch that makes one document of another, by `add`, `remove` and `replace` alone.
    ///
    /// May be called from any thread. Takes about the time of looking at both texts a few times.
    ///
    /// - Parameters:
    ///   - old: a JSON text without blanks, as ``WireJSON`` writes it.
    ///   - new: likewise.
    ///   - limit: a patch must be shorter, in bytes.
    /// - Returns: UTF-8 of the patch; nil if there is none that is short enough, or a text is not as it should be.
    package static func diff(from old: [UInt8], to new: [UInt8], below limit: Int = .max) -> [UInt8]? {
        var writer = PatchWriter(TextPair(old: CompactText(old), new: CompactText(new)), limit: limit)
        return writer.diff()
    }
}

/// Writes the operations in the order in which they are done. Recurses as deep as both documents are nested.
private struct PatchWriter {
    private let texts: TextPair
    private let limit: Int
    private var output = [UInt8(ascii: "[")]
    /// The JSON Pointer of the value at hand, escaped for a JSON string.
    private var path: [UInt8] = []

    /// Lists whose changed middles have more pairs of elements than this are compared one by one.
    private static let pairLimit = 65_536

    init(_ texts: TextPair, limit: Int) {
        (self.texts, self.limit) = (texts, limit)
    }

    mutating func diff() -> [UInt8]? {
        guard let old = texts.old.whole, let new = texts.new.whole, write(old, new), output.count + 1 < limit
        else { return nil }
        output.append(UInt8(ascii: "]"))
        return output
    }

    /// False if the patch would be too long or a text is malformed.
    private mutating func write(_ old: Range<Int>, _ new: Range<Int>) -> Bool {
        if texts.areEqual(old, new) { return true }
        let start = output.count
        let isWritten =
            switch (texts.old.first(of: old), texts.new.first(of: new)) {
            case (UInt8(ascii: "{"), UInt8(ascii: "{")): writeObject(old, new)
            case (UInt8(ascii: "["), UInt8(ascii: "[")): writeArray(old, new)
            default: false
            }
        // As a whole it may be shorter than in parts.
        let whole = path.count + new.count + 40
        if !isWritten || output.count - start > whole {
            output.removeSubrange(start...)
            write("replace", new)
        }
        return output.count < limit
    }

    /// False if it would be too long.
    private mutating func writeObject(_ old: Range<Int>, _ new: Range<Int>) -> Bool {
        guard let before = texts.old.members(of: old), let after = texts.new.members(of: new) else { return false }
        let matches = texts.matches(before, after)
        let kept = Set(matches.lazy.compactMap { $0 })
        // First what is gone: should two ways to write one name meet, the new member stays.
        if kept.count < before.count {
            for place in before.indices where !kept.contains(place) {
                inside(texts.old.bytes[before[place].name]) { $0.write("remove", nil) }
            }
        }
        for (place, match) in zip(after.indices, matches) {
            let member = after[place]
            if let match, texts.areEqual(before[match].value, member.value) { continue }
            let isShort = inside(texts.new.bytes[member.name]) { writer in
                if let match { return writer.write(before[match].value, member.value) }
                writer.write("add", member.value)
                return writer.output.count < writer.limit
            }
            guard isShort else { return false }
        }
        return true
    }

    private mutating func writeArray(_ old: Range<Int>, _ new: Range<Int>) -> Bool {
        guard let before = texts.old.elements(of: old), let after = texts.new.elements(of: new) else { return false }
        var start = 0
        let shorter = min(before.count, after.count)
        while start < shorter, texts.areEqual(before[start], after[start]) { start += 1 }
        var same = 0
        while same < shorter - start, texts.areEqual(before[before.count - 1 - same], after[after.count - 1 - same]) {
            same += 1
        }
        return writeRuns(before[start..<before.count - same], after[start..<after.count - same], at: start)
    }

    /// Two runs of elements that begin and end differently; those that both have stay.
    private mutating func writeRuns(
        _ before: ArraySlice<Range<Int>>, _ after: ArraySlice<Range<Int>>, at start: Int
    ) -> Bool {
        var place = start
        var (one, two) = (before.startIndex, after.startIndex)
        for (oldPlace, newPlace) in common(before, after) {
            guard writeRun(before[one..<oldPlace], after[two..<newPlace], &place) else { return false }
            place += 1
            (one, two) = (oldPlace + 1, newPlace + 1)
        }
        return writeRun(before[one...], after[two...], &place)
    }

    /// Two runs of elements of which none is in both: one becomes the other, the rest goes or comes.
    private mutating func writeRun(
        _ before: ArraySlice<Range<Int>>, _ after: ArraySlice<Range<Int>>, _ place: inout Int
    ) -> Bool {
        for (old, new) in zip(before, after) {
            guard inside(index: place, { $0.write(old, new) }) else { return false }
            place += 1
        }
        for _ in 0..<max(0, before.count - after.count) {
            inside(index: place) { $0.write("remove", nil) }
            guard output.count < limit else { return false }
        }
        for new in after.dropFirst(before.count) {
            inside(index: place) { $0.write("add", new) }
            guard output.count < limit else { return false }
            place += 1
        }
        return true
    }

    /// The places of elements that stay, in both runs: a longest common subsequence, if the runs are short enough and not
    /// of the same length, where most changes are of elements in their places.
    private func common(_ before: ArraySlice<Range<Int>>, _ after: ArraySlice<Range<Int>>) -> [(Int, Int)] {
        guard before.count != after.count, !before.isEmpty, !after.isEmpty,
            before.count * after.count <= Self.pairLimit
        else { return [] }
        var numbers: [ArraySlice<UInt8>: Int] = [:]
        func number(_ text: ArraySlice<UInt8>) -> Int {
            if let number = numbers[text] { return number }
            numbers[text] = numbers.count
            return numbers.count - 1
        }
        let one = before.map { number(texts.old.bytes[$0]) }
        let two = after.map { number(texts.new.bytes[$0]) }
        // lengths[i][j]: of the longest one in what follows i and j.
        let width = two.count + 1
        var lengths = [UInt16](repeating: 0, count: (one.count + 1) * width)
        for i in one.indices.reversed() {
            for j in two.indices.reversed() {
                lengths[i * width + j] =
                    one[i] == two[j]
                    ? lengths[(i + 1) * width + j + 1] + 1
                    : max(lengths[(i + 1) * width + j], lengths[i * width + j + 1])
            }
        }
        var pairs: [(Int, Int)] = []
        var (i, j) = (0, 0)
        while i < one.count, j < two.count {
            if one[i] == two[j] {
                pairs.append((before.startIndex + i, after.startIndex + j))
                (i, j) = (i + 1, j + 1)
            } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
                i += 1
            } else {
                j += 1
            }
        }
        return pairs
    }

    /// Does something with the path leading to a member.
    private mutating func inside<Result>(
        _ name: ArraySlice<UInt8>, _ body: (inout PatchWriter) -> Result
    ) -> Result {
        let length = path.count
        if name.contains(UInt8(ascii: "\\")) {
            var token: [UInt8] = []
            JSONPointer.append(WireJSON.unescaped(name), to: &token)
            var literal: [UInt8] = []
            WireJSON.appendString(utf8: token, to: &literal)
            path += literal.dropFirst().dropLast()
        } else {
            JSONPointer.append(name, to: &path)
        }
        defer { path.removeSubrange(length...) }
        return body(&self)
    }

    /// Does something with the path leading to an element.
    private mutating func inside<Result>(index: Int, _ body: (inout PatchWriter) -> Result) -> Result {
        let length = path.count
        path.append(UInt8(ascii: "/"))
        WireJSON.appendInteger(UInt64(index), to: &path)
        defer { path.removeSubrange(length...) }
        return body(&self)
    }

    private mutating func write(_ operation: StaticString, _ value: Range<Int>?) {
        if output.count > 1 { output.append(UInt8(ascii: ",")) }
        append("{\"op\":\"")
        append(operation)
        append("\",\"path\":\"")
        output += path
        output.append(UInt8(ascii: "\""))
        if let value {
            append(",\"value\":")
            output += texts.new.bytes[value]
        }
        output.append(UInt8(ascii: "}"))
    }

    private mutating func append(_ text: StaticString) { text.withUTF8Buffer { output.append(contentsOf: $0) } }
}
