/// The output of an encoding, and the values that are open in it.
///
/// Values are written directly into one buffer, innermost last. A container that an author nests by hand can be written
/// to while its parent continues, so it has its own session, whose bytes are inserted at the end of the parent's value.
final class EncodingSession {
    // Unchecked: used on one thread, and no author's code runs while one of these is being changed. The checks would
    // take a tenth of the time of a small state.
    @exclusivity(unchecked) var bytes: [UInt8]
    /// The innermost open value. It is outside the array, so that a value without nested ones needs no array.
    @exclusivity(unchecked) var current = Frame.none
    /// The surrounding values, outermost first.
    @exclusivity(unchecked) var outer: [Frame] = []
    /// Checks the keys of each encoded case, for ``WireJSON/checkMapping(of:)``.
    var check: KeyCheck?
    /// The user info of encoders.
    var userInfo: [CodingUserInfoKey: any Sendable]?
    /// The key type that was last identified as an enum case's keys.
    var payloadKeys: ObjectIdentifier?
    /// An error that could not be thrown at its place. It is thrown at the end of the value.
    @exclusivity(unchecked) var failure: WireEncodingError?

    /// True if nil members are written as `null`.
    let writesNil: Bool
    /// The place of the first nil member in the output.
    var firstNil: Int?
    let base: Int
    private(set) weak var parent: EncodingSession?
    private(set) var offsetInParent = 0
    @exclusivity(unchecked) private var serial: UInt32 = 0
    @exclusivity(unchecked) var depth: Int
    @exclusivity(unchecked) var nested: [(offset: Int, session: EncodingSession)] = []
    /// The place of an author's error.
    @exclusivity(unchecked) private(set) var located: WireEncodingError?

    /// Creates a session that appends to `output`.
    init(appendingTo output: consuming [UInt8] = [], depth: Int = 0, writesNil: Bool = false) {
        self.writesNil = writesNil
        base = output.count
        bytes = output
        // A small state fits without a second allocation.
        bytes.reserveCapacity(base + 64)
        self.depth = depth
    }

    /// Encodes a whole document. If it fails, the output is unchanged.
    func encodeDocument<T: Encodable>(_ value: T) throws(WireEncodingError) {
        do {
            try encode(value)
        } catch {
            bytes.removeSubrange(base...)
            throw wireError(of: error)
        }
    }

    /// Encodes a value at the output's end. Errors of authors are passed on unchanged.
    func encode<T: Encodable>(_ value: T) throws {
        let encoder = try push(T.self)
        located = nil
        do {
            if ScalarTypes.contains(T.self) {
                try encodeScalar(value, to: encoder)
            } else {
                try value.encode(to: encoder)
            }
            try close()
            current = outer.popLast() ?? .none
        } catch {
            if located == nil, WireEncodingError(inside: error) == nil { located = locate(error, encoder) }
            throw error
        }
    }

    /// Outside of ``encode(_:)``, whose every call would pay for the cast.
    @inline(never)
    private func encodeScalar<T: Encodable>(_ value: T, to encoder: ValueEncoder) throws {
        guard let scalar = value as? any ScalarValue else {
            preconditionFailure("\(T.self) is in ScalarTypes and no ScalarValue")
        }
        try scalar.encodeScalar(to: encoder)
    }

    /// Returns the encoder of a nested container with its own session at the output's end.
    func nest(_ owner: any Any.Type = Void.self) -> ValueEncoder {
        let child = EncodingSession(depth: depth, writesNil: writesNil)
        child.userInfo = userInfo
        child.parent = self
        child.offsetInParent = bytes.count
        child.check = check
        nested.append((bytes.count, child))
        return child.root(owner)
    }

    /// Begins the root value of an empty session.
    func root(_ owner: any Any.Type) -> ValueEncoder {
        serial &+= 1
        current = Frame(owner: owner, serial: serial, start: bytes.count)
        return ValueEncoder(session: self, serial: serial)
    }

    private func push(_ owner: any Any.Type) throws -> ValueEncoder {
        if let failure { throw failure.thrown }
        // Values without their own containers recurse, too.
        guard depth <= WireLimits.value.maximumDepth, outer.count < 4 * WireLimits.value.maximumDepth else {
            throw error("nested deeper than \(WireLimits.value.maximumDepth) levels").thrown
        }
        if current.serial != 0 {
            // Most values are nested less deeply.
            if outer.isEmpty { outer.reserveCapacity(4) }
            outer.append(current)
        }
        return root(owner)
    }

    private func close() throws {
        if !nested.isEmpty { try insertNested(from: current.start) }
        if let failure { throw failure.thrown }
        switch current.form {
        case .open:
            // For a struct without members, the compiler requests no container.
            bytes.append(UInt8(ascii: "{"))
            bytes.append(UInt8(ascii: "}"))
        case .object:
            bytes.append(UInt8(ascii: "}"))
            depth -= 1
            if current.count > 1, current.keys == Self.dictionaryKeys {
                CanonicalOrder.sort(&bytes, from: current.start, group: 1)
            }
        case .array:
            bytes.append(UInt8(ascii: "]"))
            depth -= 1
            if current.count != 1, let type = current.owner as? any UnorderedCollection.Type {
                if current.count > 1 {
                    CanonicalOrder.sort(&bytes, from: current.start, group: type.valuesPerElement)
                }
                if (type as? any NamedKeys.Type)?.areKeysNames == true {
                    CanonicalOrder.name(&bytes, from: current.start)
                }
            }
        case .single: break
        }
    }

    private func insertNested(from start: Int) throws {
        while let last = nested.last, last.offset >= start {
            nested.removeLast()
            let child = last.session
            try child.close()
            child.current = .none
            if child.firstNil != nil { firstNil = min(firstNil ?? .max, last.offset) }
            bytes.insert(contentsOf: child.bytes, at: last.offset)
        }
    }
}

/// Writes the text before a value, depending on the value's place.
extension EncodingSession {
    /// Begins a member: writes its name, after a comma if it is not the first.
    func beginMember(_ name: String, of encoder: ValueEncoder) throws {
        guard isCurrent(encoder), current.form == .object else { throw tooLate }
        EscapedText.append(name: name, isFirst: current.count == 0, to: &bytes)
        current.count += 1
    }

    /// Begins an element: writes a comma if it is not the first.
    func beginElement(of encoder: ValueEncoder) throws {
        guard isCurrent(encoder), current.form == .array else { throw tooLate }
        if current.count > 0 { bytes.append(UInt8(ascii: ",")) }
        current.count += 1
    }

    /// Makes the encoder's value a single one, if it has no form yet.
    func beginSingle(of encoder: ValueEncoder) throws {
        guard isCurrent(encoder), current.form == .open else { throw error(ValueEncoder.secondForm).thrown }
        current.form = .single
    }

    var tooLate: EncodingError { error(ValueEncoder.usedTooLate).thrown }
}
