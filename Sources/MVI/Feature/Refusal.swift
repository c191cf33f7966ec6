/// A no, from a handler, an asynchronous check, an interceptor or the maker of a keyed feature: an answer, not a fault.
///
/// Thrown from `execute` or `perform` it undoes the turn. Over HTTP it is a problem document with the status of its kind.
/// It is not reported as an error, and `onFailure` is not called.
public struct Refusal: Error, Sendable, Equatable {
    /// The kind of a refusal.
    public enum Kind: Sendable, Equatable {
        /// The sender may not do this (403).
        case forbidden
        /// The intent's target does not exist (404).
        case notFound
        /// It does not fit what has happened meanwhile (409).
        case conflict
        /// The intent makes no sense as it is (422).
        case invalid
        /// Too often; to be tried again after that time (429).
        case tooMany(retryAfter: Duration)
    }

    /// The kind of the refusal.
    public let kind: Kind
    /// A name for it that clients switch over and put into their user's language, such as `coupon-expired`; nil for none.
    public let code: String?
    /// A sentence for the person who wrote the client.
    public let detail: String
    /// A JSON Pointer (RFC 6901) to what of the intent it is about, such as `/code`; nil for none.
    public let pointer: String?

    /// A refusal.
    public init(_ kind: Kind, code: String? = nil, _ detail: String = "", pointer: String? = nil) {
        (self.kind, self.code, self.detail, self.pointer) = (kind, code, detail, pointer)
    }
}
