/// A document during its decoding.
///
/// Values are identified by the numbers of their nodes. The session stores the containers' mutable data, since the
/// standard library's boxes do not allow containers to change.
final class DecodingSession {
    let bytes: [UInt8]
    // Unchecked: used on one thread, and no author's code runs while a node is being changed.
    @exclusivity(unchecked) var nodes: [Node]

    /// The user info of decoders.
    var userInfo: [CodingUserInfoKey: any Sendable]?
    /// The key type that was last identified as an enum case's keys, so that an array of enums checks the name once.
    var payloadKeys: ObjectIdentifier?
    /// The object whose case was last found.
    var foundCase: Int?
    /// The reason why the object last searched for its case has none. It is thrown only if the synthesized decoding
    /// fails; hand-written decoding may not need a case.
    var missingCase: Mismatch?
    /// The place of an author's error, so that rethrowing it does not lose the place.
    private var located: WireDecodingError.Issue?
    /// The index of the first node of the second text, which supplies absent members; nil without one.
    let filling: Int?
    /// The objects that have a counterpart in the second text.
    var fills: [Int: Int] = [:]

    /// True if the document may have been written by an earlier version.
    var isStored = false
    /// True if the members that are read are recorded.
    let notesReads: Bool

    init(bytes: [UInt8], notesReads: Bool = false, limits: WireLimits) throws(WireDecodingError) {
        nodes = try Scanner.scan(bytes, limits: limits)
        self.bytes = bytes
        filling = nil
        self.notesReads = notesReads
        isStored = notesReads
    }

    /// Creates a session on a text, with a second one that supplies absent members.
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
        isStored = true
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

    /// Decodes one value. Errors of authors are passed on unchanged, so that outer code of authors can catch them.
    func decode<T: Decodable>(_ type: T.Type, at node: Int) throws -> T {
        located = nil
        do {
            if ScalarTypes.contains(type) { return try decodeScalar(type, at: node) }
            return try T(from: ValueDecoder(session: self, node: node, owner: type))
        } catch {
            if located == nil, Mismatch(error) == nil { located = locate(error, at: node, type) }
            throw error
        }
    }

    /// Outside of ``decode(_:at:)``, whose every call would pay for the cast.
    @inline(never)
    private func decodeScalar<T: Decodable>(_ type: T.Type, at node: Int) throws -> T {
        guard let scalar = type as? any ScalarValue.Type, let value = try scalar.decodeScalar(at: node, in: self) as? T
        else { preconditionFailure("\(type) is in ScalarTypes and no ScalarValue") }
        return value
    }

    private func issue(of error: any Error) -> WireDecodingError.Issue {
        if let mismatch = Mismatch(error) { return issue(mismatch) }
        // Set on all error paths of `decode`.
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

/// Supplies members that a stored value lacks from the same place of another text.
extension DecodingSession {
    /// Returns the counterpart of an object that is decoded with the given keys; nil if it has none or is not a struct.
    ///
    /// A dictionary's members have no fixed places, and a case's members belong to that case alone. Keys that accept
    /// any name belong to a dictionary, too.
    func fill<Key: CodingKey>(of node: Int, keyedBy keys: Key.Type, owner: any Any.Type) -> Int? {
        guard let fill = fills[node], !EnumShape.isEnum(owner), EnumShape.isClosed(keys),
            !EnumShape.areCaseKeys(keys)
        else { return nil }
        return fill
    }

    /// Returns the value of a member, from the counterpart if the object lacks it.
    func value(of object: Int, filledFrom fill: Int, named name: String) -> Int? {
        let other = value(of: fill, named: name)
        guard let own = value(of: object, named: name) else { return other }
        if let other { note(other, asFillOf: own) }
        return own
    }

    /// Pairs an object with its counterpart.
    func note(_ fill: Int, asFillOf node: Int) {
        if kind(node) == .object, kind(fill) == .object { fills[node] = fill }
    }
}
