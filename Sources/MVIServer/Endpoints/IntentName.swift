import MicroHTTP
import Sessions

/// The identifier of an intent that prevents a second run: `Idempotency-Key`, or `Intent-Seq` with `Intent-Epoch`.
package enum IntentName {
    /// The maximal length of a client's epoch.
    package static let longestEpoch = 128

    /// Returns nil without an identifier.
    package static func read(_ fields: HeaderFields) throws(Problem) -> IntentRequest.Name? {
        let key = try IdempotencyKey.read(fields)
        let number = try single("intent-seq", "Intent-Seq", fields)
        let epoch = try single("intent-epoch", "Intent-Epoch", fields)
        guard number != nil || epoch != nil else { return key.map { .key($0) } }
        guard key == nil else {
            throw Problem(.badRequest, "Send either `Idempotency-Key` or `Intent-Seq`, not both.")
        }
        guard let number, let epoch else {
            throw Problem(.badRequest, "`Intent-Seq` and `Intent-Epoch` require each other; one is missing.")
        }
        guard let parsed = UInt64(number), parsed >= 1, parsed <= UInt64(Int64.max), "\(parsed)" == number else {
            throw Problem(.badRequest, "`Intent-Seq` must be a whole number from 1 on, such as 17.")
        }
        guard !epoch.isEmpty, epoch.utf8.count <= longestEpoch,
            epoch.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw Problem(
                .badRequest,
                "`Intent-Epoch` must have 1 to \(longestEpoch) visible ASCII characters without blanks.")
        }
        return .sequence(parsed, epoch: epoch)
    }

    private static func single(
        _ name: StaticString, _ shown: StaticString, _ fields: HeaderFields
    ) throws(Problem) -> String? {
        let (count, value) = fields.occurrences(of: name)
        guard count <= 1 else { throw Problem(.badRequest, "`\(shown)` is repeated.") }
        return value.map { String(decoding: $0, as: UTF8.self) }
    }
}

/// `Idempotency-Key`: a string of RFC 8941 section 3.3.3 in quotes. The quotes may be missing.
///
/// https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
enum IdempotencyKey {
    /// The maximal length of a key, which is stored with its receipt and repeated in every event of the intent.
    static let longest = 255

    /// Returns nil without a key.
    static func read(_ fields: HeaderFields) throws(Problem) -> String? {
        let (count, value) = fields.occurrences(of: "idempotency-key")
        guard let value else { return nil }
        guard count == 1 else {
            throw Problem(.badRequest, "`Idempotency-Key` is repeated.")
        }
        guard let key = parse(value), !key.isEmpty else {
            throw Problem(
                .badRequest,
                "`Idempotency-Key` must be a quoted string of visible ASCII characters, such as "
                    + "\"8e03978e-40d5-43dd-bc93-6894a57f9324\".")
        }
        guard key.utf8.count <= longest else {
            throw Problem(
                .badRequest, "`Idempotency-Key` has \(key.utf8.count) characters; at most \(longest) are allowed.")
        }
        return key
    }

    private static func parse(_ value: ArraySlice<UInt8>) -> String? {
        guard value.first == UInt8(ascii: "\"") else {
            let isBare = value.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") }
            return isBare ? String(decoding: value, as: UTF8.self) : nil
        }
        var text: [UInt8] = []
        var rest = value.dropFirst()
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""):
                // Parameters are allowed and ignored.
                return rest.isEmpty || rest.first == UInt8(ascii: ";") ? String(decoding: text, as: UTF8.self) : nil
            case UInt8(ascii: "\\"):
                // Only these two characters may be escaped (RFC 8941 section 4.2.5).
                guard let escaped = rest.popFirst(), escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\")
                else { return nil }
                text.append(escaped)
            case 0x20...0x7E: text.append(byte)
            default: return nil
            }
        }
        return nil
    }
}
