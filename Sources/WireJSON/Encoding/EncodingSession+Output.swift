extension EncodingSession {
    /// The keys of the standard library's dictionaries with string or integer keys, whose type has no public name.
    static let dictionaryKeys: ObjectIdentifier? = {
        let session = EncodingSession()
        try? ["": 0].encode(to: session.root(Void.self))
        return session.current.keys
    }()

    /// Opens the object or array of a value once. Returns false if the value already has another form.
    func open(_ form: Frame.Form, of encoder: ValueEncoder) -> Bool {
        guard isCurrent(encoder) else { return false }
        if current.form == form { return true }
        guard current.form == .open else { return false }
        current.form = form
        if form != .single {
            bytes.append(form == .object ? UInt8(ascii: "{") : UInt8(ascii: "["))
            depth += 1
            if depth > WireLimits.value.maximumDepth {
                fail("nested deeper than \(WireLimits.value.maximumDepth) levels")
            }
        }
        return true
    }

    /// Returns true if the encoder's value is the innermost open one.
    func isCurrent(_ encoder: ValueEncoder) -> Bool {
        current.serial == encoder.serial
    }

    /// Stores an error that cannot be thrown at this place.
    func fail(_ detail: String) {
        if failure == nil { failure = error(detail) }
    }

    /// Returns the positions of the output and of the present value, for `restore`.
    func mark() -> Mark {
        Mark(bytes: bytes.count, nested: nested.count, outer: outer.count, depth: depth, current: current)
    }

    /// Removes the output of a failed member or element, so that an author can catch the error and continue.
    func restore(_ mark: Mark) {
        bytes.removeSubrange(mark.bytes...)
        nested.removeSubrange(mark.nested...)
        outer.removeSubrange(mark.outer...)
        depth = mark.depth
        if let first = firstNil, first >= mark.bytes { firstNil = nil }
        current = mark.current
    }

    struct Mark {
        let bytes, nested, outer, depth: Int
        let current: Frame
    }

    /// Returns an error at the output's end.
    func error(_ detail: String) -> WireEncodingError {
        WireEncodingError(pointer: PathKey.pointer(path(to: bytes.count)), detail: detail)
    }

    /// Returns the path from the root to a place in the output, which is read from the output itself.
    func path(to end: Int) -> [PathKey] {
        (parent?.path(to: offsetInParent) ?? []) + OutputPath.path(in: bytes[base..<end])
    }

    func locate(_ error: any Error, _ encoder: ValueEncoder) -> WireEncodingError {
        let start = isCurrent(encoder) ? current.start : bytes.count
        let detail = (error as? EncodingError)?.context?.debugDescription ?? "\(error)"
        return WireEncodingError(pointer: PathKey.pointer(path(to: start)), detail: detail)
    }

    func wireError(of error: any Error) -> WireEncodingError {
        WireEncodingError(inside: error) ?? located ?? self.error("\(error)")
    }
}
