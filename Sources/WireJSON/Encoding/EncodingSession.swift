/// The output of one encoding, and the values that are open in it.
///
/// Values are written straight into one buffer, innermost last. Only a container that an author nests by hand may be
/// written to while its parent goes on: it gets a session of its own, whose bytes are put in when the parent's value
/// ends.
final class EncodingSession {
    // Unchecked: one thread, and nothing of an author's runs while one of these is being changed. The checks would be
    // a tenth of the time of a small state.
    @exclusivity(unchecked) var bytes: [UInt8]
    /// The innermost value that is open. Not in the array, so that a value without others in it needs none.
    @exclusivity(unchecked) var current = Frame.none
    /// The values that it lies in, outermost first.
    @exclusivity(unchecked) var outer: [Frame] = []
    /// Looks at the keys of every case that is encoded, for ``WireJSON/checkMapping(of:)``.
    var check: KeyCheck?
    /// The keys that were last found to be a case's.
    var payloadKeys: ObjectIdentifier?
    /// The error of an operation that cannot throw; thrown when the value ends.
    @exclusivity(unchecked) var failure: WireEncodingError?

    /// True if members that are nil are written as `null`.
    let writesNil: Bool
    /// The index of the first of them in the output.
    var firstNil: Int?
    let base: Int
    private(set) weak var parent: EncodingSession?
    private(set) var offsetInParent = 0
    @exclusivity(unchecked) private var serial: UInt32 = 0
    @exclusivity(unchecked) var depth: Int
    @exclusivity(unchecked) var nested: [(offset: Int, session: EncodingSession)] = []
    /// The place of an author's own error.
    @exclusivity(unchecked) private(set) var located: WireEncodingError?

    /// A session that appends to `output`.
    init(appendingTo output: consuming [UInt8] = [], depth: Int = 0, writesNil: Bool = false) {
        self.writesNil = writesNil
        base = output.count
        bytes = output
        // A small state fits without a second allocation.
        bytes.reserveCapacity(base + 64)
        self.depth = depth
    }

    /// Encodes a whole document; leaves the output as it was when that fails.
    func encodeDocument<T: Encodable>(_ value: T) throws(WireEncodingError) {
        do {
            try encode(value)
        } catch {
            bytes.removeSubrange(base...)
            throw wireError(of: error)
        }
    }

    /// Encodes one value where the output ends. Errors of authors pass through unchanged.
    func encode<T: Encodable>(_ value: T) throws {
        let encoder = try push(T.self)
        located = nil
        do {
            try value.encode(to: encoder)
            try close()
            current = outer.popLast() ?? .none
        } catch {
            if located == nil, WireEncodingError(inside: error) == nil { located = locate(error, encoder) }
            throw error
        }
    }

    /// A session for a container nested by hand at the output's end, and the encoder of its value.
    func nest(_ owner: any Any.Type = Void.self) -> ValueEncoder {
        let child = EncodingSession(depth: depth, writesNil: writesNil)
        child.parent = self
        child.offsetInParent = bytes.count
        child.check = check
        nested.append((bytes.count, child))
        return child.root(owner)
    }

    /// Begins the value at the output's end of a session that has none.
    func root(_ owner: any Any.Type) -> ValueEncoder {
        serial &+= 1
        current = Frame(owner: owner, serial: serial, start: bytes.count)
        return ValueEncoder(session: self, serial: serial)
    }

    private func push(_ owner: any Any.Type) throws -> ValueEncoder {
        if let failure { throw failure.thrown }
        // Values without a container of their own, one in the other, recurse too.
        guard depth <= WireLimits.default.maximumDepth, outer.count < 4 * WireLimits.default.maximumDepth else {
            throw error("nested deeper than \(WireLimits.default.maximumDepth) levels").thrown
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
            // The compiler asks for no container for a struct without members.
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
            if current.count > 1, let type = current.owner as? any UnorderedCollection.Type {
                CanonicalOrder.sort(&bytes, from: current.start, group: type.valuesPerElement)
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

/// The bytes before a value, by its place.
extension EncodingSession {
    /// Begins a member: its name, behind a comma if it is not the first.
    func beginMember(_ name: String, of encoder: ValueEncoder) throws {
        guard isCurrent(encoder), current.form == .object else { throw tooLate }
        EscapedText.append(name: name, isFirst: current.count == 0, to: &bytes)
        current.count += 1
    }

    /// Begins an element, behind a comma if it is not the first.
    func beginElement(of encoder: ValueEncoder) throws {
        guard isCurrent(encoder), current.form == .array else { throw tooLate }
        if current.count > 0 { bytes.append(UInt8(ascii: ",")) }
        current.count += 1
    }

    /// Makes the encoder's value a single one, if it is nothing yet.
    func beginSingle(of encoder: ValueEncoder) throws {
        guard isCurrent(encoder), current.form == .open else { throw error(ValueEncoder.secondForm).thrown }
        current.form = .single
    }

    var tooLate: EncodingError { error(ValueEncoder.usedTooLate).thrown }
}
