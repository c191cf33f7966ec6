/// The methods of this server. Their case matters (RFC 9110 section 9.1).
enum Method: String, Sendable, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case delete = "DELETE"
    case options = "OPTIONS"

    /// Whether the method may change something, for the cross-site rule.
    var isUnsafe: Bool { self == .post || self == .delete }
}
