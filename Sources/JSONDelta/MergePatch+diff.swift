extension MergePatch {
    /// Returns the patch between two documents.
    ///
    /// Can be called from any thread. Takes about the time of reading both texts a few times.
    ///
    /// - Parameters:
    ///   - old: a JSON text without whitespace, as ``WireJSON`` writes it.
    ///   - new: likewise.
    ///   - limit: the exclusive maximum size of the patch in bytes.
    /// - Returns: UTF-8 of the patch; nil if no patch is short enough, if the patch would have to set a member to
    ///   `null`, which is impossible, or if a text is malformed.
    package static func diff(from old: [UInt8], to new: [UInt8], below limit: Int = .max) -> [UInt8]? {
        var writer = MergeWriter(texts: TextPair(old, new), limit: limit)
        return writer.diff()
    }
}

/// Reads both texts in parallel. Recurses to the depth of both documents.
private struct MergeWriter {
    let texts: TextPair
    let limit: Int
    private var output: [UInt8] = []

    /// The places after two values, and true if the values differ.
    private typealias Result = (old: Int, new: Int, differs: Bool)

    init(texts: TextPair, limit: Int) {
        (self.texts, self.limit) = (texts, limit)
    }

    mutating func diff() -> [UInt8]? {
        guard let result = write(0, 0), result.old == texts.old.bytes.count, result.new == texts.new.bytes.count,
            output.count < limit
        else { return nil }
        if result.differs { return output }
        // An empty patch changes nothing only if the document is an object.
        return texts.new.byte(at: 0) == UInt8(ascii: "{") ? Array("{}".utf8) : texts.new.bytes
    }

    /// Appends the patch between two values if they differ; nil if it would be too long or is impossible, or a text is
    /// malformed.
    private mutating func write(_ old: Int, _ new: Int) -> Result? {
        if texts.old.byte(at: old) == UInt8(ascii: "{"), texts.new.byte(at: new) == UInt8(ascii: "{") {
            return writeObject(old, new)
        }
        guard let oldEnd = texts.old.end(of: old) else { return nil }
        if texts.has(old..<oldEnd, at: new) { return (oldEnd, new + oldEnd - old, false) }
        guard let newEnd = texts.new.end(of: new) else { return nil }
        if texts.areEqual(old..<oldEnd, new..<newEnd) { return (oldEnd, newEnd, false) }
        return set(new..<newEnd) ? (oldEnd, newEnd, true) : nil
    }

    private mutating func writeObject(_ old: Int, _ new: Int) -> Result? {
        let start = output.count
        output.append(UInt8(ascii: "{"))
        var (one, two) = (old + 1, new + 1)
        // Usually both have the same members in the same order.
        while let before = texts.old.member(at: one), let after = texts.new.member(at: two),
            texts.areEqual(before.name, after.name)
        {
            guard let ends = writeMember(before, after, in: start),
                let oldNext = texts.old.next(after: ends.old, closing: UInt8(ascii: "}")),
                let newNext = texts.new.next(after: ends.new, closing: UInt8(ascii: "}"))
            else { return nil }
            (one, two) = (oldNext, newNext)
        }
        guard let before = texts.old.members(from: one), let after = texts.new.members(from: two) else { return nil }
        if !before.members.isEmpty || !after.members.isEmpty {
            guard writeMembers(before.members, after.members, in: start) else { return nil }
        }
        let differs = output.count > start + 1
        if differs { output.append(UInt8(ascii: "}")) } else { output.removeSubrange(start...) }
        return output.count < limit ? (before.end, after.end, differs) : nil
    }

    private mutating func writeMember(
        _ before: CompactText.Member, _ after: CompactText.Member, in start: Int
    ) -> Result? {
        let length = output.count
        writeName(texts.new.bytes[after.name], after: start)
        let result = write(before.value, after.value)
        if result?.differs == false { output.removeSubrange(length...) }
        return result
    }

    /// Writes members that differ or have another order.
    private mutating func writeMembers(
        _ before: [(CompactText.Member, end: Int)], _ after: [(CompactText.Member, end: Int)], in start: Int
    ) -> Bool {
        let matches = texts.matches(before, after)
        for ((member, end), match) in zip(after, matches) {
            if let match {
                guard writeMember(before[match].0, member, in: start) != nil else { return false }
            } else {
                writeName(texts.new.bytes[member.name], after: start)
                guard set(member.value..<end) else { return false }
            }
        }
        let kept = Set(matches.lazy.compactMap { $0 })
        for place in before.indices where !kept.contains(place) {
            writeName(texts.old.bytes[before[place].0.name], after: start)
            output += [UInt8(ascii: "n"), UInt8(ascii: "u"), UInt8(ascii: "l"), UInt8(ascii: "l")]
        }
        return true
    }

    private mutating func writeName(_ name: ArraySlice<UInt8>, after start: Int) {
        if output.count > start + 1 { output.append(UInt8(ascii: ",")) }
        output.append(UInt8(ascii: "\""))
        output += name
        output += [UInt8(ascii: "\""), UInt8(ascii: ":")]
    }

    /// Writes a whole value into the patch.
    private mutating func set(_ value: Range<Int>) -> Bool {
        guard !texts.new.hasNullMember(value) else { return false }
        output += texts.new.bytes[value]
        return output.count < limit
    }
}
