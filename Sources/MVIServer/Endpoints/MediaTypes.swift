import MicroHTTP

/// The media types of a request's body and of acceptable answers.
package enum MediaTypes {
    private static let json = Array("application/json".utf8)
    private static let identity = Array("identity".utf8)

    /// The body of an intent or a session: JSON, not coded. Parameters are let pass; JSON has none (RFC 8259
    /// section 11), and clients send `charset` all the same.
    package static func checkJSON(_ fields: HeaderFields) throws(Problem) {
        // Two of either can be read in two ways.
        let (types, type) = fields.occurrences(of: "content-type")
        let (codings, coding) = fields.occurrences(of: "content-encoding")
        // As nearly all clients send it.
        if types == 1, codings == 0, let type, type.elementsEqual(json) { return }
        guard types <= 1, codings <= 1 else {
            throw Problem(
                .unsupportedMediaType, "`Content-Type` and `Content-Encoding` may be there once.")
        }
        guard let type else {
            throw Problem(.unsupportedMediaType, "The body has no `Content-Type`; it must be application/json.")
        }
        guard essence(type).isCaselessly(json) else {
            throw Problem(
                .unsupportedMediaType,
                "The body's `Content-Type` is another than application/json: send `Content-Type: application/json`.")
        }
        // An empty field says as much as none.
        if let coding, !coding.isEmpty, !coding.isCaselessly(identity) {
            throw Problem(.unsupportedMediaType, "The body has a `Content-Encoding`; it must come as it is.")
        }
    }

    /// Returns true if `Accept` (RFC 9110 section 12.5.1) lets the type pass; without the field everything does. The most
    /// specific range that covers the type decides, by whether its weight is above zero.
    package static func accepts(type: String, subtype: String, _ fields: HeaderFields) -> Bool {
        guard fields.contains("accept") else { return true }
        let (full, half, all) = (Array("\(type)/\(subtype)".utf8), Array("\(type)/*".utf8), Array("*/*".utf8))
        var best: (specificity: Int, isAccepted: Bool) = (-1, false)
        var hasRange = false
        for range in fields.list(of: "accept").split(separator: UInt8(ascii: ",")) {
            hasRange = true
            let essence = essence(range)
            let specificity =
                if essence.isCaselessly(full) { 2 } else if essence.isCaselessly(half) {
                    1
                } else if essence.isCaselessly(all) { 0 } else { -1 }
            if specificity > best.specificity { best = (specificity, hasWeight(range)) }
        }
        // An empty field says as much as none.
        return hasRange ? best.isAccepted : true
    }

    /// Type and subtype, without parameters.
    private static func essence(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        value.prefix { $0 != UInt8(ascii: ";") }.trimmingBlanks()
    }

    /// `q=0`, `q=0.0` and the like exclude.
    private static func hasWeight(_ range: ArraySlice<UInt8>) -> Bool {
        for parameter in range.split(separator: UInt8(ascii: ";")).dropFirst() {
            let parts = parameter.filter { $0 != 0x20 && $0 != 0x09 }
            guard parts.prefix(2).elementsEqual([0x71, 0x3D]) || parts.prefix(2).elementsEqual([0x51, 0x3D])
            else { continue }
            return parts.dropFirst(2).contains { (0x31...0x39).contains($0) }
        }
        return true
    }
}
