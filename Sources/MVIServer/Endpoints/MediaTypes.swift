import MicroHTTP

/// Checks of `Content-Type`, `Content-Encoding` and `Accept`.
package enum MediaTypes {
    private static let json = Array("application/json".utf8)
    private static let identity = Array("identity".utf8)

    /// Checks that the body of an intent or a session is JSON without a content coding. Parameters are ignored: JSON
    /// has none (RFC 8259 section 11), but clients send `charset`.
    package static func checkJSON(_ fields: HeaderFields) throws(Problem) {
        // Repeated fields are ambiguous.
        let (types, type) = fields.occurrences(of: "content-type")
        let (codings, coding) = fields.occurrences(of: "content-encoding")
        // The form that nearly all clients send.
        if types == 1, codings == 0, let type, type.elementsEqual(json) { return }
        guard types <= 1, codings <= 1 else {
            throw Problem(
                .unsupportedMediaType, "`Content-Type` and `Content-Encoding` must not be repeated.")
        }
        guard let type else {
            throw Problem(.unsupportedMediaType, "The body has no `Content-Type`; it must be application/json.")
        }
        guard essence(type).isCaselessly(json) else {
            throw Problem(
                .unsupportedMediaType,
                "The body's `Content-Type` is not application/json: send `Content-Type: application/json`.")
        }
        // An empty field counts as missing.
        if let coding, !coding.isEmpty, !coding.isCaselessly(identity) {
            throw Problem(.unsupportedMediaType, "The body must not have a `Content-Encoding`.")
        }
    }

    /// Returns true if `Accept` (RFC 9110 section 12.5.1) allows the type. Without the field every type is allowed. The
    /// most specific range decides, by whether its weight is above zero.
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
        // An empty field counts as missing.
        return hasRange ? best.isAccepted : true
    }

    /// The type and subtype without parameters.
    private static func essence(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        value.prefix { $0 != UInt8(ascii: ";") }.trimmingBlanks()
    }

    /// False for a weight of zero, such as `q=0` or `q=0.0`.
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
