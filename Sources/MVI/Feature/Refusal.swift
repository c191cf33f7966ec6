/// A refusal by a handler, an asynchronous check, an interceptor or the maker of a keyed feature. It is an answer, not
/// a fault.
///
/// A refusal thrown by `execute` or `perform` undoes the turn. Over HTTP it is a problem document with the status of
/// its kind. It is not reported as an error, and `onFailure` is not called.
public struct Refusal: Error, Sendable, Equatable {
    /// The kind of a refusal.
    public enum Kind: Sendable, Equatable {
        /// The sender is not allowed to do this (403).
        case forbidden
        /// The target does not exist (404).
        case notFound
        /// The intent conflicts with the present state (409).
        case conflict
        /// The intent is invalid (422).
        case invalid
        /// There were too many requests; the client may retry after the given time (429).
        case tooMany(retryAfter: Duration)
    }

    /// The kind of the refusal.
    public let kind: Kind
    /// A code that clients switch over and translate for the user, such as `coupon-expired`; nil for none.
    public let code: String?
    /// A sentence for the developer of the client.
    public let detail: String
    /// A JSON Pointer (RFC 6901) to the refused part of the intent, such as `/code`; nil for none.
    public let pointer: String?

    /// Creates a refusal.
    public init(_ kind: Kind, code: String? = nil, _ detail: String = "", pointer: String? = nil) {
        (self.kind, self.code, self.detail, self.pointer) = (kind, code, detail, pointer)
    }
}
