/// The reason for which a store, its session or its journal did not fulfill a request.
///
/// The one error of the way from the journal to the answer: it is made where something goes wrong and is handed on as it
/// is. A server maps its code to a problem type.
public struct StoreError: Error, Sendable {
    /// The kind of an error. It is open: a journal or a server may have its own codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, such as `full`.
        public let name: String

        /// A code of that name.
        public init(_ name: String) { self.name = name }

        /// The name.
        public var description: String { name }
    }

    /// A place in a body that is not as it must be.
    public struct Issue: Sendable, Equatable {
        /// A JSON Pointer (RFC 6901), empty for the whole body.
        public let pointer: String
        /// The expected and the actual value.
        public let detail: String

        /// An issue at a place.
        public init(pointer: String, detail: String) {
            self.pointer = pointer
            self.detail = detail
        }
    }

    /// The kind of the error.
    public var code: Code { content.code }
    /// A sentence about it: for an operator, or for a client's author where the code says so.
    public var detail: String { content.detail }
    /// The error that an author's code threw, with its stage; nil unless the code is `failed`.
    public var failure: Failure? { content.failure }
    /// After how long the same may succeed; nil if that is not known.
    public var retryAfter: Duration? { content.retryAfter }
    /// The faults of a body.
    public var issues: [Issue] { content.issues }
    /// The `Intent-Seq` that is to come first, with the code `outOfSequence`.
    public var expectedNumber: UInt64? { content.expectedNumber }
    /// A refusal's name for clients to switch over, such as `coupon-expired`.
    public var refusalCode: String? { content.refusalCode }

    /// Beside the value: results that mostly are no error stay small.
    private final class Content: Sendable {
        let code: Code
        let detail: String
        let (failure, retryAfter): (Failure?, Duration?)
        let issues: [Issue]
        let expectedNumber: UInt64?
        let refusalCode: String?

        init(
            _ code: Code, _ detail: String, _ failure: Failure?, _ retryAfter: Duration?, _ issues: [Issue],
            _ expected: UInt64?, _ refusalCode: String?
        ) {
            self.refusalCode = refusalCode
            (self.code, self.detail, self.failure) = (code, detail, failure)
            (self.retryAfter, self.issues, expectedNumber) = (retryAfter, issues, expected)
        }
    }

    private let content: Content

    /// An error with a sentence about it, and what else its code comes with.
    public init(
        _ code: Code, _ detail: String, failure: Failure? = nil, retryAfter: Duration? = nil, issues: [Issue] = [],
        expectedNumber: UInt64? = nil, refusalCode: String? = nil
    ) {
        content = Content(code, detail, failure, retryAfter, issues, expectedNumber, refusalCode)
    }
}

extension StoreError: CustomStringConvertible {
    /// The sentence.
    public var description: String { detail }
}

/// The codes of a journal.
extension StoreError.Code {
    /// It cannot be read or written now.
    public static let unavailable = Self("unavailable")
    /// Its medium is full.
    public static let full = Self("full")
    /// The session is gone.
    public static let gone = Self("gone")
    /// There is such a session already.
    public static let exists = Self("exists")
    /// The journal was closed.
    public static let closed = Self("closed")
    /// The request can never be kept, however often it is tried.
    public static let invalid = Self("invalid")
    /// Other writers were first again and again.
    public static let contended = Self("contended")
}

/// The codes of a store's jobs.
extension StoreError.Code {
    /// The store was disposed before the job's turn came.
    public static let disposed = Self("disposed")
    /// Too many jobs wait already.
    public static let busy = Self("busy")
    /// The caller's precondition does not hold.
    public static let preconditionFailed = Self("preconditionFailed")
    /// The intent was refused: its sender may not do this. The detail is an author's sentence for clients.
    public static let forbidden = Self("forbidden")
    /// The intent was refused: what it is about is not there. The detail is an author's sentence for clients.
    public static let notFound = Self("notFound")
    /// The intent was refused: it does not fit what has happened. The detail is an author's sentence for clients.
    public static let conflict = Self("conflict")
    /// The intent was refused: it makes no sense as it is. The detail is an author's sentence for clients.
    public static let refused = Self("refused")
    /// The intent was refused: too often. The detail is an author's sentence for clients.
    public static let tooMany = Self("tooMany")
    /// The intent's asynchronous check took too long.
    public static let checkTimeout = Self("checkTimeout")
    /// A handler threw; the turn is undone.
    public static let failed = Self("failed")
    /// A bound was exceeded, for instance the bytes of a view state. The detail is a sentence for clients.
    public static let tooLarge = Self("tooLarge")
    /// The turn's result cannot be written as JSON, for instance a number that is not finite.
    public static let notEncodable = Self("notEncodable")
}

extension StoreError {
    /// An author's no.
    package init(_ refusal: Refusal) {
        let (code, retryAfter): (Code, Duration?) =
            switch refusal.kind {
            case .forbidden: (.forbidden, nil)
            case .notFound: (.notFound, nil)
            case .conflict: (.conflict, nil)
            case .invalid: (.refused, nil)
            case .tooMany(let time): (.tooMany, time)
            }
        self.init(
            code, refusal.detail, retryAfter: retryAfter,
            issues: refusal.pointer.map { [Issue(pointer: $0, detail: refusal.detail)] } ?? [],
            refusalCode: refusal.code)
    }

    /// A handler's throw.
    init(_ failure: Failure) {
        self.init(
            .failed, "The feature failed at the intent \"\(failure.intentID.text)\"; nothing of it was kept.",
            failure: failure)
    }

    static let disposed = StoreError(.disposed, "The store was disposed before the job's turn came.")
}
