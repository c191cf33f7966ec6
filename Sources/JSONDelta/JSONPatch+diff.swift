import WireJSON

extension JSONPatch {
    /// Returns the patch between two documents. It uses only `add`, `remove` and `replace`.
    ///
    /// Can be called from any thread. Takes about the time of reading both texts a few times.
    ///
    /// - Parameters:
    ///   - old: a JSON text without whitespace, as ``WireJSON`` writes it.
    ///   - new: likewise.
    ///   - limit: the exclusive maximum size of the patch in bytes.
    /// - Returns: UTF-8 of the patch; nil if no patch is short enough, or a text is malformed.
    package static func diff(from old: [UInt8], to new: [UInt8], below limit: Int = .max) -> [UInt8]? {
        var writer = PatchWriter(TextPair(old, new), limit: limit)
        return writer.diff()
    }
}

/// Reads both texts in parallel and writes the operations in order. Recurses to the depth of both documents.
private struct PatchWriter {
    private let texts: TextPair
    private let limit: Int
    private var output = [UInt8(ascii: "[")]
    /// The JSON Pointer of the present value, escaped for a JSON string.
    private var path: [UInt8] = []

    /// The places after two values.
    private typealias Ends = (old: Int, new: Int)

    init(_ texts: TextPair, limit: Int) {
        (self.texts, self.limit) = (texts, limit)
    }

    mutating func diff() -> [UInt8]? {
        guard let ends = write(0, 0), ends.old == texts.old.bytes.count, ends.new == texts.new.bytes.count,
            output.count + 1 < limit
        else { return nil }
        output.append(UInt8(ascii: "]"))
        return output
    }

    /// Writes the operations between two values; nil if the patch would be too long or a text is malformed.
    private mutating func write(_ old: Int, _ new: Int) -> Ends? {
        let start = output.count
        let ends: Ends?
        switch (texts.old.byte(at: old), texts.new.byte(at: new)) {
        case (UInt8(ascii: "{"), UInt8(ascii: "{")): ends = writeObject(old, new)
        case (UInt8(ascii: "["), UInt8(ascii: "[")): ends = writeArray(old, new)
        default:
            guard let oldEnd = texts.old.end(of: old), let newEnd = texts.new.end(of: new) else { return nil }
            if !texts.areEqual(old..<oldEnd, new..<newEnd) { write("replace", new..<newEnd) }
            ends = (oldEnd, newEnd)
        }
        guard let ends, output.count > start else { return ends }
        // Replacing the whole value may be shorter.
        if output.count - start > path.count + ends.new - new + 40 {
            output.removeSubrange(start...)
            write("replace", new..<ends.new)
        }
        return output.count < limit ? ends : nil
    }

    private mutating func writeObject(_ old: Int, _ new: Int) -> Ends? {
        var (one, two) = (old + 1, new + 1)
        // Usually both have the same members in the same order.
        while let before = texts.old.member(at: one), let after = texts.new.member(at: two),
            texts.areEqual(before.name, after.name)
        {
            guard let ends = inside(texts.new.bytes[after.name], { $0.write(before.value, after.value) }),
                let oldNext = texts.old.next(after: ends.old, closing: UInt8(ascii: "}")),
                let newNext = texts.new.next(after: ends.new, closing: UInt8(ascii: "}"))
            else { return nil }
            (one, two) = (oldNext, newNext)
        }
        guard let before = texts.old.members(from: one), let after = texts.new.members(from: two) else { return nil }
        if !before.members.isEmpty || !after.members.isEmpty {
            guard writeMembers(before.members, after.members) else { return nil }
        }
        return (before.end, after.end)
    }

    /// Writes members that differ or have another order. Returns false if the patch would be too long.
    private mutating func writeMembers(
        _ before: [(CompactText.Member, end: Int)], _ after: [(CompactText.Member, end: Int)]
    ) -> Bool {
        let matches = texts.matches(before, after)
        let kept = Set(matches.lazy.compactMap { $0 })
        for place in before.indices where !kept.contains(place) {
            inside(texts.old.bytes[before[place].0.name]) { $0.write("remove", nil) }
        }
        for ((member, end), match) in zip(after, matches) {
            let isShort = inside(texts.new.bytes[member.name]) { writer in
                if let match { return writer.write(before[match].0.value, member.value) != nil }
                writer.write("add", member.value..<end)
                return writer.output.count < writer.limit
            }
            guard isShort else { return false }
        }
        return true
    }

    private mutating func writeArray(_ old: Int, _ new: Int) -> Ends? {
        guard var list = ListDifference(texts, old, new) else { return nil }
        var place = 0
        var (one, two) = (0, 0)
        for (oldPlace, newPlace) in list.kept(texts) {
            guard writeRun(list.old[one..<oldPlace], list.new[two..<newPlace], &place) else { return nil }
            place += 1
            (one, two) = (oldPlace + 1, newPlace + 1)
        }
        guard writeRun(list.old[one...], list.new[two...], &place) else { return nil }
        return (list.oldEnd, list.newEnd)
    }

    /// Writes two runs of elements without common ones: elements are replaced in pairs, the rest is removed or added.
    private mutating func writeRun(
        _ before: ArraySlice<Range<Int>>, _ after: ArraySlice<Range<Int>>, _ place: inout Int
    ) -> Bool {
        for (old, new) in zip(before, after) {
            guard inside(index: place, { $0.write(old.lowerBound, new.lowerBound) }) != nil else { return false }
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

    /// Runs a body with the path of a member.
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

    /// Runs a body with the path of an element.
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
