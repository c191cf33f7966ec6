extension DecodingSession {
    /// Returns the value of an object's member. All lookups of members by name go through this function.
    ///
    /// The search begins at the member found last. Members are mostly read in document order, so each lookup usually
    /// costs one comparison, even in large dictionaries.
    func value(of object: Int, named name: String) -> Int? {
        let end = Int(nodes[object].next)
        let first = object + 1
        guard first < end else { return nil }
        return name.withUTF8Span { name in
            let last = Int(nodes[object].start)
            var member = last
            repeat {
                if isName(member, name) {
                    nodes[object].start = UInt32(member)
                    if notesReads { nodes[member].isRead = true }
                    return member + 1
                }
                member = Int(nodes[member + 1].next)
                if member >= end { member = first }
            } while member != last
            return nil
        }
    }

    /// Returns the names of an object's members, in document order.
    func names(of object: Int) -> [String] {
        var names: [String] = []
        names.reserveCapacity(Int(nodes[object].length))
        var member = object + 1
        while member < Int(nodes[object].next) {
            names.append(text(member))
            member = Int(nodes[member + 1].next)
        }
        return names
    }

    /// Marks all members of an object as read, if the session records reads.
    func markNames(of object: Int) {
        guard notesReads else { return }
        var member = object + 1
        while member < Int(nodes[object].next) {
            nodes[member].isRead = true
            member = Int(nodes[member + 1].next)
        }
    }

    /// Compares UTF-8 bytes, so that Unicode normalization does not make different names equal.
    private func isName(_ node: Int, _ name: Span<UInt8>) -> Bool {
        let node = nodes[node]
        if node.isEscaped { return isSame(EscapedText.unescaped(raw(node))[...], name) }
        return node.length == name.count && isSame(raw(node), name)
    }

    @inline(__always)
    private func isSame(_ bytes: ArraySlice<UInt8>, _ name: Span<UInt8>) -> Bool {
        guard bytes.count == name.count else { return false }
        for offset in name.indices where bytes[bytes.startIndex + offset] != name[offset] { return false }
        return true
    }

    /// Returns the path from the root to a node. Walks the document, so it is only used for errors and on request.
    func path(to target: Int) -> [PathKey] {
        var path: [PathKey] = []
        var container = 0
        if let filling, target >= filling { container = filling }
        while container < target {
            var child = container + 1
            var index = 0
            let isObject = nodes[container].kind == .object
            while child < Int(nodes[container].next) {
                let value = isObject ? child + 1 : child
                if target < Int(nodes[value].next) {
                    path.append(isObject ? .member(text(child)) : .index(index))
                    container = value
                    break
                }
                child = Int(nodes[value].next)
                index += 1
            }
        }
        return path
    }
}
