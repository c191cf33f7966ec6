import MicroHTTP
import Sessions

/// What names an intent, so that its repetition does not run again: `Idempotency-Key`, or `Intent-Seq` with
/// `Intent-Epoch`.
enum IntentName {
    /// How long a client's own epoch may be.
    static let longestEpoch = 128

    /// Nil if there is none.
    static func read(_ fields: HeaderFields) throws(Problem) -> IntentRequest.Name? {
        let key = try IdempotencyKey.read(fields)
        let number = try single("intent-seq", "Intent-Seq", fields)
        let epoch = try single("intent-epoch", "Intent-Epoch", fields)
        guard number != nil || epoch != nil else { return key.map { .key($0) } }
        guard key == nil else {
            throw Problem(.badRequest, "A request has either `Idempotency-Key` or `Intent-Seq`, not both.")
        }
        guard let number, let epoch else {
            throw Problem(.badRequest, "`Intent-Seq` and `Intent-Epoch` belong together; one of them is missing.")
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
        guard count <= 1 else { throw Problem(.badRequest, "`\(shown)` is there more than once.") }
        return value.map { String(decoding: $0, as: UTF8.self) }
    }
}
