/// The ids of stores: `[a-z][a-z0-9-]{0,47}(:[A-Za-z0-9._~-]{1,64})?`.
///
/// An id is a part of paths, and an app may take its key from a link, which must not lead to another resource.
enum FeatureID {
    static func isValid(_ id: String) -> Bool {
        let parts = id.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts[0].first, isLower(first), parts[0].count <= 48,
            parts[0].allSatisfy({ isLower($0) || isDigit($0) || $0 == UInt8(ascii: "-") })
        else { return false }
        guard parts.count > 1 else { return true }
        return (1...64).contains(parts[1].count) && parts[1].allSatisfy(isOfKey)
    }

    /// The error of an intent for an invalid id.
    static func error(_ id: String) -> RemoteError {
        RemoteError(
            .invalidFeature,
            "\"\(id)\" is no store's id, such as \"counter\" or \"order:42\": a key has 1 to 64 of A-Z a-z 0-9 . _ ~ -")
    }

    private static func isLower(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isOfKey(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: isLower(byte) || isDigit(byte)
        }
    }
}
