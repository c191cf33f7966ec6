extension Scanner {
    /// Refuses duplicate members (RFC 8259 section 4: names should be unique, and receivers treat duplicates
    /// differently). Names are equal if their characters are the same code points, however escaped.
    func checkMemberNames(of object: Int) throws(WireDecodingError) {
        let count = Int(nodes[object].length)
        guard count > 1 else { return }
        if count <= 8 {
            try checkFewNames(of: object)
        } else {
            try checkManyNames(of: object, count: count)
        }
    }

    private func checkFewNames(of object: Int) throws(WireDecodingError) {
        let end = Int(nodes[object].next)
        // One bit for each combination of length and last letter, 64 in all. Most names need no further comparison.
        var seen: UInt64 = 0
        var name = object + 1
        while name < end {
            let bit = signature(of: name)
            if seen & bit != 0 { try checkName(name, inside: object) }
            seen |= bit
            name = Int(nodes[name + 1].next)
        }
    }

    /// Returns the same bits for equal names; all bits if the name must be decoded first.
    private func signature(of name: Int) -> UInt64 {
        let node = nodes[name]
        guard !node.isEscaped, node.length > 0 else { return .max }
        return 1 << ((UInt64(bytes[Int(node.start + node.length) - 1]) &+ UInt64(node.length) &* 5) & 63)
    }

    private func checkName(_ name: Int, inside object: Int) throws(WireDecodingError) {
        var earlier = object + 1
        while earlier < name {
            if isSame(earlier, name) { throw duplicate(name) }
            earlier = Int(nodes[earlier + 1].next)
        }
    }

    /// Sorts instead of hashing, so that no sender can choose names that make it slow.
    private func checkManyNames(of object: Int, count: Int) throws(WireDecodingError) {
        var names: [(node: Int, text: ArraySlice<UInt8>)] = []
        names.reserveCapacity(count)
        var name = object + 1
        while name < Int(nodes[object].next) {
            names.append((name, text(name)))
            name = Int(nodes[name + 1].next)
        }
        names.sort { first, second in
            if first.text.lexicographicallyPrecedes(second.text) { return true }
            return first.node < second.node && first.text == second.text
        }
        var earliest: Int?
        for (first, second) in zip(names, names.dropFirst()) where first.text == second.text {
            earliest = min(earliest ?? .max, second.node)
        }
        if let earliest { throw duplicate(earliest) }
    }

    private func isSame(_ first: Int, _ second: Int) -> Bool {
        let (a, b) = (nodes[first], nodes[second])
        if a.isEscaped || b.isEscaped { return text(first) == text(second) }
        guard a.length == b.length else { return false }
        for offset in 0..<Int(a.length) where bytes[Int(a.start) + offset] != bytes[Int(b.start) + offset] {
            return false
        }
        return true
    }

    private func text(_ node: Int) -> ArraySlice<UInt8> {
        let raw = bytes[Int(nodes[node].start)..<Int(nodes[node].start + nodes[node].length)]
        return nodes[node].isEscaped ? EscapedText.unescaped(raw)[...] : raw
    }

    private func duplicate(_ name: Int) -> WireDecodingError {
        .malformed(offset: Int(nodes[name].start) - 1, reason: "a duplicate member name")
    }
}
