/// One document while values are made of it.
///
/// Values are told apart by their node's number. What containers remember about a document is kept here and not in
/// them: the standard library's boxes do not let them change.
final class DecodingSession {
    let bytes: [UInt8]
    // Unchecked: one thread, and nothing of an author's runs while a node is being changed.
    @exclusivity(unchecked) var nodes: [Node]

    /// The keys that were last found to be a case's, so that an array of enums asks for their name once.
    var payloadKeys: ObjectIdentifier?
    /// The object whose case was last found.
    var foundCase: Int?
    /// The reason for which the last object has no case. It becomes an error only if the compiler's decoding then
    /// fails; handwritten decoding may work without a case.
    var missingCase: Mismatch?
    /// The place of an author's own error, so that rethrowing it does not lose the place.
    private var located: WireDecodingError.Issue?
    /// The index of the first node of a second text that supplies absent members; nil without one.
    let filling: Int?
    /// The objects that have a counterpart in the second text.
    var fills: [Int: Int] = [:]

    /// True if it is noted which members are asked for.
    let notesReads: Bool

    init(bytes: [UInt8], notesReads: Bool = false, limits: WireLimits) throws(WireDecodingError) {
        nodes = try Scanner.scan(bytes, limits: limits)
        self.bytes = bytes
        filling = nil
        self.notesReads = notesReads
    }

    /// A session on a text whose absent members come from a second one.
    init(
        bytes: [UInt8], filling: [UInt8], notesReads: Bool = false, limits: WireLimits
    ) throws(WireDecodingError) {
        guard bytes.count + filling.count < Int(UInt32.max) else {
            throw .malformed(offset: 0, reason: "the texts are too long")
        }
        nodes = try Scanner.scan(bytes, limits: limits)
        let root = nodes.count
        for node in try Scanner.scan(filling, limits: limits) {
            nodes.append(node.moved(bytes: bytes.count, nodes: root))
        }
        self.bytes = bytes + filling
        self.filling = root
        self.notesReads = notesReads
        note(root, asFillOf: 0)
    }

    /// Decodes the whole document.
    func decodeDocument<T: Decodable>(_ type: T.Type) throws(WireDecodingError) -> T {
        do {
            return try decode(type, at: 0)
        } catch {
            throw .mismatch([issue(of: error)])
        }
    }

    /// Decodes one value. Errors of authors pass through unchanged, so that authors can catch them further out.
    func decode<T: Decodable>(_ type: T.Type, at node: Int) throws -> T {
        located = nil
        do {
            return try T(from: ValueDecoder(session: self, node: node, owner: type))
        } catch {
            if located == nil, Mismatch(error) == nil { located = locate(error, at: node, type) }
            throw error
        }
    }

    private func issue(of error: any Error) -> WireDecodingError.Issue {
        if let mismatch = Mismatch(error) { return issue(mismatch) }
        // Every way out of `decode` has set it.
        return located ?? .init(pointer: "", detail: "not a valid value")
    }

    private func issue(_ mismatch: Mismatch) -> WireDecodingError.Issue {
        var path: [any CodingKey] = path(to: mismatch.node)
        if let member = mismatch.member { path.append(PathKey.member(member)) }
        return .init(
            pointer: PathKey.pointer(path), detail: mismatch.detail, unknownType: mismatch.unknownType)
    }

    private func locate(_ error: any Error, at node: Int, _ type: any Any.Type) -> WireDecodingError.Issue {
        if let missingCase, missingCase.node == node, ForeignError.isComplaintAboutCase(error) {
            return issue(missingCase)
        }
        let own = path(to: node)
        // An author's `dataCorruptedError(forKey:in:debugDescription:)` names the member.
        let named = ForeignError.path(of: error)
        let startsHere = zip(own, named).allSatisfy { $0.stringValue == $1.stringValue }
        let path: [any CodingKey] = named.count > own.count && startsHere ? named : own
        return .init(pointer: PathKey.pointer(path), detail: ForeignError.detail(of: error, type))
    }
}

/// Members that a stored value lacks come from the same place of another text.
extension DecodingSession {
    /// The counterpart of an object that is asked for with such keys; nil if it has none or is no struct.
    ///
    /// A dictionary's members have no fixed places, and a case's members belong to that case alone. Keys that take any
    /// name are a dictionary's too.
    func fill<Key: CodingKey>(of node: Int, keyedBy keys: Key.Type, owner: any Any.Type) -> Int? {
        guard let fill = fills[node], !EnumShape.isEnum(owner), EnumShape.isClosed(keys),
            !EnumShape.areCaseKeys(keys)
        else { return nil }
        return fill
    }

    /// The value of a member, the counterpart's where the object has none.
    func value(of object: Int, filledFrom fill: Int, named name: String) -> Int? {
        let other = value(of: fill, named: name)
        guard let own = value(of: object, named: name) else { return other }
        if let other { note(other, asFillOf: own) }
        return own
    }

    /// Pairs two objects.
    func note(_ fill: Int, asFillOf node: Int) {
        if kind(node) == .object, kind(fill) == .object { fills[node] = fill }
    }
}
