import WireJSON

/// Two texts, the older one and the newer one.
struct TextPair {
    let old: CompactText
    let new: CompactText

    init(_ old: [UInt8], _ new: [UInt8]) {
        (self.old, self.new) = (CompactText(old), CompactText(new))
    }

    func areEqual(_ one: Range<Int>, _ two: Range<Int>) -> Bool {
        one.count == two.count && areEqual(one.lowerBound, two.lowerBound, count: one.count)
    }

    /// Returns true if the newer text has the given piece of the older one at a place, as a whole value.
    func has(_ piece: Range<Int>, at place: Int) -> Bool {
        guard place + piece.count < new.bytes.count else { return false }
        let next = new.bytes[place + piece.count]
        guard next == UInt8(ascii: ",") || next == UInt8(ascii: "]") || next == UInt8(ascii: "}") else { return false }
        return areEqual(piece.lowerBound, place, count: piece.count)
    }

    private func areEqual(_ one: Int, _ two: Int, count: Int) -> Bool {
        guard one + count <= old.bytes.count, two + count <= new.bytes.count else { return false }
        return sameBytes(one, two, count: count) == count
    }

    /// Returns the number of bytes that two pieces have in common at their beginning, or up to seven less.
    func sameBytes(_ one: Int, _ two: Int, count: Int) -> Int {
        let (first, second) = (old.bytes.span.bytes, new.bytes.span.bytes)
        var offset = 0
        // Compares eight bytes at a time.
        while offset + 8 <= count {
            guard
                first.unsafeLoadUnaligned(fromByteOffset: one + offset, as: UInt64.self)
                    == second.unsafeLoadUnaligned(fromByteOffset: two + offset, as: UInt64.self)
            else { return offset }
            offset += 8
        }
        while offset < count {
            guard old.bytes[one + offset] == new.bytes[two + offset] else { return offset }
            offset += 1
        }
        return count
    }

    /// Returns, for each member of the newer object, the place of the older one's member with that name, if any.
    func matches(_ one: [(CompactText.Member, end: Int)], _ two: [(CompactText.Member, end: Int)]) -> [Int?] {
        let places = Dictionary(one.indices.map { (characters(old.bytes[one[$0].0.name]), $0) }) { first, _ in first }
        return two.map { places[characters(new.bytes[$0.0.name])] }
    }

    /// Returns the characters of a name without escapes.
    private func characters(_ name: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        name.contains(UInt8(ascii: "\\")) ? WireJSON.unescaped(name)[...] : name
    }
}
