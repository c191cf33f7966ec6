/// An error of a store, its session or its journal.
///
/// All layers from the journal to the server pass this error on unchanged. The server maps its code to a problem type.
public struct StoreError: Error, Sendable {
    /// An error code. Journals and servers may define their own.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, such as `full`.
        public let name: String

        /// Creates a code.
        public init(_ name: String) { self.name = name }

        /// The name.
        public var description: String { name }
    }

    /// An invalid value in a body.
    public struct Issue: Sendable, Equatable {
        /// A JSON Pointer (RFC 6901), empty for the whole body.
        public let pointer: String
        /// The expected and the found value.
        public let detail: String

        /// Creates an issue.
        public init(pointer: String, detail: String) {
            self.pointer = pointer
            self.detail = detail
        }
    }

    /// The error code.
    public var code: Code { content.code }
    /// A description for the operator, or for the client's developer if the code says so.
    public var detail: String { content.detail }
    /// The error of the author's code and its place; nil unless the code is `failed`.
    public var failure: Failure? { content.failure }
    /// The time after which a retry may succeed; nil if unknown.
    public var retryAfter: Duration? { content.retryAfter }
    /// The invalid values in a body.
    public var issues: [Issue] { content.issues }
    /// The `Intent-Seq` that must come first, for the code `outOfSequence`.
    public var expectedNumber: UInt64? { content.expectedNumber }
    /// The refusal's code for clients, such as `coupon-expired`.
    public var refusalCode: String? { content.refusalCode }

    /// Stored by reference, so that results without an error stay small.
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

    /// Creates an error with a description and the details of its code.
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

/// Codes of journals.
extension StoreError.Code {
    /// The journal cannot be read or written now.
    public static let unavailable = Self("unavailable")
    /// The journal's medium is full.
    public static let full = Self("full")
    /// The session has ended.
    public static let gone = Self("gone")
    /// The session exists already.
    public static let exists = Self("exists")
    /// The journal was closed.
    public static let closed = Self("closed")
    /// The data cannot be stored; a retry does not help.
    public static let invalid = Self("invalid")
    /// Other writers won each conflict.
    public static let contended = Self("contended")
}

/// Codes of jobs on a store.
extension StoreError.Code {
    /// The store was disposed before the job ran.
    public static let disposed = Self("disposed")
    /// Too many jobs are already waiting.
    public static let busy = Self("busy")
    /// The caller's precondition does not hold.
    public static let preconditionFailed = Self("preconditionFailed")
    /// The intent was refused: its sender may not do this. The detail is the author's sentence for clients.
    public static let forbidden = Self("forbidden")
    /// The intent was refused: its target does not exist. The detail is the author's sentence for clients.
    public static let notFound = Self("notFound")
    /// The intent was refused: it conflicts with the present state. The detail is the author's sentence for clients.
    public static let conflict = Self("conflict")
    /// The intent was refused: it is invalid. The detail is the author's sentence for clients.
    public static let refused = Self("refused")
    /// The intent was refused: there were too many. The detail is the author's sentence for clients.
    public static let tooMany = Self("tooMany")
    /// The intent's asynchronous check took too long.
    public static let checkTimeout = Self("checkTimeout")
    /// A handler threw; the turn is undone.
    public static let failed = Self("failed")
    /// A limit was exceeded, for instance the size of a view state. The detail is a sentence for clients.
    public static let tooLarge = Self("tooLarge")
    /// A result of the turn cannot be written as JSON, for instance a number that is not finite.
    public static let notEncodable = Self("notEncodable")
}

extension StoreError {
    /// Creates the error of a refusal.
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

    /// Creates the error of a failed turn.
    init(_ failure: Failure) {
        self.init(
            .failed, "The feature failed at the intent \"\(failure.intentID.text)\"; nothing of it was kept.",
            failure: failure)
    }

    static let disposed = StoreError(.disposed, "The store was disposed before the job's turn came.")
}
