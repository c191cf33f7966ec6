/// What stands before a value, by where it stands.
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
