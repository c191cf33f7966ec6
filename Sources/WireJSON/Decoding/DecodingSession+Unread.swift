/// Finds the members of a document that no container read, if the session records reads.
extension DecodingSession {
    /// True if a member was not read and is not `null`.
    var hasUnread: Bool {
        var finder = UnreadMembers(session: self, again: nil, limit: 1)
        finder.visit(0, again: nil)
        return !finder.pointers.isEmpty
    }

    /// Returns JSON Pointers of the first `limit` members that were not read and are not at the same place of another
    /// text.
    func lost(unlessIn again: [UInt8]?, limit: Int, limits: WireLimits) -> [String] {
        let again = again.flatMap { try? DecodingSession(bytes: $0, limits: limits) }
        var finder = UnreadMembers(session: self, again: again, limit: limit)
        finder.visit(0, again: again == nil ? nil : 0)
        return finder.pointers
    }

    /// Returns the elements of an array; an empty list for other values.
    fileprivate func elements(of array: Int) -> [Int] {
        guard kind(array) == .array else { return [] }
        var elements: [Int] = []
        var element = array + 1
        while element < Int(nodes[array].next) {
            elements.append(element)
            element = Int(nodes[element].next)
        }
        return elements
    }
}

/// Walks a document, and in parallel another one, in document order.
private struct UnreadMembers {
    let session: DecodingSession
    /// The present encoding of the value; nil if it is not compared.
    let again: DecodingSession?
    let limit: Int
    var pointers: [String] = []
    private var path: [PathKey] = []

    init(session: DecodingSession, again: DecodingSession?, limit: Int) {
        (self.session, self.again, self.limit) = (session, again, limit)
    }

    /// - Parameter other: the same place in the other document; nil if there is none. The scanner limits the depth.
    mutating func visit(_ node: Int, again other: Int?) {
        switch session.kind(node) {
        case .object: visitMembers(of: node, again: other)
        case .array: visitElements(of: node, again: other)
        default: break
        }
    }

    private mutating func visitMembers(of object: Int, again other: Int?) {
        var member = object + 1
        while member < Int(session.nodes[object].next), pointers.count < limit {
            let value = member + 1
            let name = session.text(member)
            path.append(.member(name))
            let counterpart = counterpart(of: name, in: other)
            if session.nodes[member].isRead {
                visit(value, again: counterpart)
            } else if session.kind(value) != .null, counterpart == nil {
                pointers.append(PathKey.pointer(path))
            }
            path.removeLast()
            member = Int(session.nodes[value].next)
        }
    }

    private mutating func visitElements(of array: Int, again other: Int?) {
        let others = other.flatMap { again?.elements(of: $0) } ?? []
        for (index, element) in session.elements(of: array).enumerated() where pointers.count < limit {
            path.append(.index(index))
            visit(element, again: index < others.count ? others[index] : nil)
            path.removeLast()
        }
    }

    private func counterpart(of name: String, in other: Int?) -> Int? {
        guard let again, let other, again.kind(other) == .object else { return nil }
        return again.value(of: other, named: name)
    }
}
