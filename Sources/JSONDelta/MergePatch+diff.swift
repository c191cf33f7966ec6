extension MergePatch {
    /// The patch that makes one document of another.
    ///
    /// May be called from any thread. Takes about the time of looking at both texts a few times.
    ///
    /// - Parameters:
    ///   - old: a JSON text without blanks, as ``WireJSON`` writes it.
    ///   - new: likewise.
    ///   - limit: a patch must be shorter, in bytes.
    /// - Returns: UTF-8 of the patch; nil if there is none that is short enough, if the new document has a member that is
    ///   `null` where a patch would have to set it, which it cannot, or if a text is not as it should be.
    package static func diff(from old: [UInt8], to new: [UInt8], below limit: Int = .max) -> [UInt8]? {
        var writer = MergeWriter(texts: TextPair(old: CompactText(old), new: CompactText(new)), limit: limit)
        guard let old = writer.texts.old.whole, let new = writer.texts.new.whole else { return nil }
        if writer.texts.areEqual(old, new), writer.texts.new.first(of: new) == UInt8(ascii: "{") {
            return [0x7B, 0x7D]
        }
        guard writer.write(old, new), writer.output.count < limit else { return nil }
        return writer.output
    }
}

/// Recurses as deep as both documents are nested.
private struct MergeWriter {
    let texts: TextPair
    let limit: Int
    private(set) var output: [UInt8] = []

    init(texts: TextPair, limit: Int) {
        (self.texts, self.limit) = (texts, limit)
    }

    /// What makes one value of another that is not the same. False if it would be too long, or there is none.
    mutating func write(_ old: Range<Int>, _ new: Range<Int>) -> Bool {
        let isInside =
            texts.old.first(of: old) == UInt8(ascii: "{") && texts.new.first(of: new) == UInt8(ascii: "{")
        return isInside ? writeObject(old, new) : set(new)
    }

    private mutating func writeObject(_ old: Range<Int>, _ new: Range<Int>) -> Bool {
        guard let before = texts.old.members(of: old), let after = texts.new.members(of: new) else { return false }
        let matches = texts.matches(before, after)
        let start = output.count
        output.append(UInt8(ascii: "{"))
        for (member, match) in zip(after, matches) {
            if let match, texts.areEqual(before[match].value, member.value) { continue }
            writeName(texts.new.bytes[member.name], after: start)
            guard match.map({ write(before[$0].value, member.value) }) ?? set(member.value) else { return false }
        }
        let kept = Set(matches.lazy.compactMap { $0 })
        if kept.count < before.count {
            for place in before.indices where !kept.contains(place) {
                writeName(texts.old.bytes[before[place].name], after: start)
                output += [UInt8(ascii: "n"), UInt8(ascii: "u"), UInt8(ascii: "l"), UInt8(ascii: "l")]
            }
        }
        output.append(UInt8(ascii: "}"))
        return output.count < limit
    }

    private mutating func writeName(_ name: ArraySlice<UInt8>, after start: Int) {
        if output.count > start + 1 { output.append(UInt8(ascii: ",")) }
        output.append(UInt8(ascii: "\""))
        output += name
        output += [UInt8(ascii: "\""), UInt8(ascii: ":")]
    }

    /// A value that stands in the patch as it is.
    private mutating func set(_ value: Range<Int>) -> Bool {
        guard !texts.new.hasNullMember(value) else { return false }
        output += texts.new.bytes[value]
        return output.count < limit
    }
}
