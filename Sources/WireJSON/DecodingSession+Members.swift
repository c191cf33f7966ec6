extension DecodingSession {
    /// The value of an object's member. The one place where a name becomes a value.
    ///
    /// Starts at the member found last: members are mostly asked for in the order in which they were written, so that
    /// each costs one comparison, in a dictionary of any size too.
    func value(of object: Int, named name: String) -> Int? {
        let end = Int(nodes[object].next)
        let first = object + 1
        guard first < end else { return nil }
        let last = Int(nodes[object].start)
        var member = last
        repeat {
            if isName(member, name) {
                nodes[object].start = UInt32(member)
                return member + 1
            }
            member = Int(nodes[member + 1].next)
            if member >= end { member = first }
        } while member != last
        return nil
    }

    /// The names of an object's members, in document order.
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

    /// Compares UTF-8, so that no normalisation makes two names one.
    private func isName(_ node: Int, _ name: String) -> Bool {
        let value = nodes[node]
        if value.isEscaped { return EscapedText.unescaped(raw(node)).elementsEqual(name.utf8) }
        let text = name.utf8
        guard text.count == Int(value.length) else { return false }
        var index = Int(value.start)
        for byte in text {
            if bytes[index] != byte { return false }
            index += 1
        }
        return true
    }

    /// The way from the whole document to a node. Walks the document, so it is for errors and for authors who ask.
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
