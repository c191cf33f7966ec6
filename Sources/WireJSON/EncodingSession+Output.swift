extension EncodingSession {
    /// The keys of the standard library's dictionaries with string or integer keys; the type has no public name.
    static let dictionaryKeys: ObjectIdentifier? = {
        let session = EncodingSession()
        try? ["": 0].encode(to: session.root(Void.self))
        return session.frames.first?.keys
    }()

    /// Opens the object or array of a value, once; false when the value is something else already.
    func open(_ form: Frame.Form, of encoder: ValueEncoder) -> Bool {
        guard isCurrent(encoder) else { return false }
        let index = Int(encoder.frame)
        if frames[index].form == form { return true }
        guard frames[index].form == .open else { return false }
        frames[index].form = form
        if form != .single {
            bytes.append(form == .object ? UInt8(ascii: "{") : UInt8(ascii: "["))
            depth += 1
            if depth > WireLimits.default.maximumDepth {
                fail("nested deeper than \(WireLimits.default.maximumDepth) levels")
            }
        }
        return true
    }

    /// Whether the encoder's value is the innermost one that is being encoded.
    func isCurrent(_ encoder: ValueEncoder) -> Bool {
        let index = Int(encoder.frame)
        return index == frames.count - 1 && frames[index].serial == encoder.serial
    }

    /// Notes an error where none can be thrown.
    func fail(_ detail: String) {
        if failure == nil { failure = error(detail) }
    }

    /// What can be undone: where the output and the value at hand stand.
    func mark() -> (bytes: Int, nested: Int, depth: Int, frame: Frame) {
        (bytes.count, nested.count, depth, frames[frames.count - 1])
    }

    /// Undoes what a member or element that failed has left, so that an author may catch its error and go on.
    func restore(_ mark: (bytes: Int, nested: Int, depth: Int, frame: Frame), frame index: Int) {
        bytes.removeSubrange(mark.bytes...)
        nested.removeSubrange(mark.nested...)
        depth = mark.depth
        frames.removeSubrange((index + 1)...)
        frames[index] = mark.frame
    }

    /// An error at the place where the output ends.
    func error(_ detail: String) -> WireEncodingError {
        WireEncodingError(pointer: PathKey.pointer(path(to: bytes.count)), detail: detail)
    }

    /// The way from the whole document to a place in the output, read from the output itself.
    func path(to end: Int) -> [PathKey] {
        (parent?.path(to: offsetInParent) ?? []) + OutputPath.path(in: bytes[base..<end])
    }

    func locate(_ error: any Error, _ encoder: ValueEncoder) -> WireEncodingError {
        let start = Int(encoder.frame) < frames.count ? frames[Int(encoder.frame)].start : bytes.count
        let detail = (error as? EncodingError)?.context?.debugDescription ?? "\(error)"
        return WireEncodingError(pointer: PathKey.pointer(path(to: start)), detail: detail)
    }

    func wireError(of error: any Error) -> WireEncodingError {
        WireEncodingError(inside: error) ?? located ?? self.error("\(error)")
    }
}
