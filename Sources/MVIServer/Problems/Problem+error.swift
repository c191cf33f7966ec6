import MVI
import MicroHTTP
import SessionJournal
import Sessions

/// How an error of a store, a session or a journal is told to a client.
private struct ErrorAnswer {
    /// What the client's author reads.
    enum Text {
        /// The error's own sentence, which was written for clients.
        case own
        /// A sentence about the feature instance.
        case about((FeatureID) -> String)
    }

    let type: ProblemType
    let text: Text
    /// After how long to try again, unless the error knows better.
    var retryAfter: Duration?

    init(_ type: ProblemType, _ text: Text, retryAfter: Duration? = nil) {
        self.type = type
        self.text = text
        self.retryAfter = retryAfter
    }

    init(_ type: ProblemType, _ text: String, retryAfter: Duration? = nil) {
        self.init(type, .about { _ in text }, retryAfter: retryAfter)
    }
}

extension Problem {
    /// The one table from codes to problem types.
    private static func answer(to code: StoreError.Code) -> ErrorAnswer {
        switch code {
        case .unavailable, .closed, .exists, .inDoubt:
            ErrorAnswer(.journalUnavailable, "The journal cannot be used now; try again.", retryAfter: .seconds(2))
        case .contended:
            ErrorAnswer(
                .journalUnavailable, "Others changed the same session again and again; try again.",
                retryAfter: .seconds(1))
        case .evicted:
            ErrorAnswer(
                .journalUnavailable, "The session left memory while the request was under way; try again.",
                retryAfter: .seconds(1))
        case .elsewhere:
            ErrorAnswer(
                .ownerUnreachable, "The session's work runs on another server; the request was not served.",
                retryAfter: .seconds(1))
        case .newerState:
            ErrorAnswer(
                .newerState,
                .about { "The state of \"\($0)\" was written by a newer version of this server; try again later." },
                retryAfter: .seconds(10))
        case .full: ErrorAnswer(.storageFull, "The journal has no room left.")
        case .signedOut: ErrorAnswer(.sessionEnded, .own)
        case .identityExpired: ErrorAnswer(.identityExpired, .own)
        case .signingIn: ErrorAnswer(.journalUnavailable, .own, retryAfter: .seconds(1))
        case .gone: ErrorAnswer(.sessionEnded, "The session was ended while the request was under way.")
        case .disposed: ErrorAnswer(.storeDisposed, .about { "The store of \"\($0)\" was disposed meanwhile." })
        case .busy: ErrorAnswer(.busy, "Too many intents are already waiting in this session.", retryAfter: .seconds(1))
        case .preconditionFailed:
            ErrorAnswer(.preconditionFailed, .about { "The state of \"\($0)\" has none of the tags in `If-Match`." })
        case .forbidden: ErrorAnswer(.forbidden, .own)
        case .refused: ErrorAnswer(.intentRefused, .own)
        case .notFound: ErrorAnswer(.targetNotFound, .own)
        case .conflict: ErrorAnswer(.intentConflict, .own)
        case .checkTimeout: ErrorAnswer(.checkTimeout, .own, retryAfter: .seconds(2))
        case .noStore: ErrorAnswer(.featureNotFound, .own)
        case .otherIdentity: ErrorAnswer(.otherIdentity, .own)
        case .tooMany: ErrorAnswer(.tooManyRequests, .own, retryAfter: .seconds(1))
        case .tooLarge: ErrorAnswer(.stateTooLarge, .own)
        case .notEncodable, .invalid:
            ErrorAnswer(
                .stateUnavailable,
                .about { "\"\($0)\" produced a state or label that JSON cannot hold; nothing was kept." })
        case .failed: ErrorAnswer(.intentFailed, "The feature failed; nothing was kept. The server's log says why.")
        case .notMade:
            ErrorAnswer(
                .stateUnavailable, .about { "The store of \"\($0)\" could not be made; the server's log says why." })
        case .featureNotFound: ErrorAnswer(.featureNotFound, .own)
        case .tooManyStores: ErrorAnswer(.tooManyStores, .own)
        case .tooManyWaits:
            ErrorAnswer(.tooManyWaits, "Too many requests are already waiting.", retryAfter: .seconds(1))
        case .tooManySessions:
            ErrorAnswer(
                .tooManySessions, "The server has as many sessions as it may have.", retryAfter: .seconds(60))
        case .tooManyStreams:
            ErrorAnswer(
                .tooManyStreams, "The server has as many streams open as it may have.", retryAfter: .seconds(10))
        case .malformed: ErrorAnswer(.invalidJSON, .own)
        case .mismatch:
            ErrorAnswer(
                .invalidIntent,
                .about { "The body is not an intent of \"\($0.name)\". `errors` says what is wrong where." })
        case .unknownIntent:
            ErrorAnswer(.invalidIntent, .about { "The feature \"\($0.name)\" has no such intent." })
        case .receiptPending:
            ErrorAnswer(
                .intentInProgress, "The intent with this `Idempotency-Key` or `Intent-Seq` is not committed yet.",
                retryAfter: .seconds(1))
        case .receiptConflict:
            ErrorAnswer(
                .idempotencyKeyReused, "This `Idempotency-Key` or `Intent-Seq` was used with another body.")
        case .tooManyReceipts:
            ErrorAnswer(
                .tooManyReceipts, "The session has as many recent idempotency keys as the server keeps.",
                retryAfter: .seconds(1))
        case .outOfSequence:
            ErrorAnswer(.outOfSequence, "Another `Intent-Seq` is to come first in this `Intent-Epoch`.")
        case .receiptExpired:
            ErrorAnswer(
                .receiptExpired, "This `Intent-Seq` was used, and what came of it is not remembered any more.")
        default:
            // A code of an adopter's own journal. A test holds that ours all stand above.
            ErrorAnswer(.journalUnavailable, "The request cannot be served now; try again.", retryAfter: .seconds(2))
        }
    }

    /// What a client is told of an error.
    ///
    /// - Parameters:
    ///   - feature: the feature instance that the request was about; nil if it was about none, or several.
    ///   - features: the features served, for a refusal of an unknown intent.
    init(_ error: StoreError, _ feature: FeatureID? = nil, in features: FeatureRegistry? = nil) {
        let answer = Self.answer(to: error.code)
        var detail: String
        switch answer.text {
        case .own: detail = error.detail.isEmpty ? "\(answer.type.title)." : error.detail
        case .about(let text): detail = text(feature ?? Self.several)
        }
        if error.code == .unknownIntent, let feature, let definition = features?.definition(for: feature) {
            detail += " It has: \(definition.intentTypes.joined(separator: ", "))."
        }
        if error.code == .outOfSequence, let expected = error.expectedNumber {
            detail = "`Intent-Seq` \(expected) is to come first in this `Intent-Epoch`."
        }
        if error.code == .failed, let failure = error.failure {
            detail =
                "The feature failed at the intent \"\(failure.intentID.text)\"; nothing of it was kept. The "
                + "server's log says why."
        }
        if let retryAfter = error.retryAfter ?? answer.retryAfter {
            self.init(answer.type, detail, retryAfter: retryAfter)
        } else {
            self.init(answer.type, detail)
        }
        code = error.refusalCode
        issues = error.issues.map { Issue(pointer: $0.pointer, detail: $0.detail) }
        if let expected = error.expectedNumber { fields.append(ResponseField("Expected-Seq", "\(expected)")) }
    }

    /// Stands for one of the features of a stream of several.
    private static let several = FeatureID(name: "one-of-them", key: nil)
}

extension Problem {
    /// The HTTP layer's refusal in this server's words.
    init(_ fault: RequestFault) {
        switch fault.reason {
        case .malformedHead, .malformedTarget, .badHost, .ambiguousLength, .bodyCutShort:
            self.init(.badRequest, fault.detail)
        case .requestTimeout: self.init(.requestTimeout, fault.detail)
        case .bodyTooLarge: self.init(.bodyTooLarge, fault.detail)
        case .headTooLarge: self.init(.headTooLarge, fault.detail)
        case .unknownTransferCoding: self.init(.unknownTransferCoding, fault.detail)
        case .tooManyConnections: self.init(.tooManyConnections, fault.detail, retryAfter: .seconds(10))
        case .noRoomForBody: self.init(.busy, fault.detail, retryAfter: .seconds(2))
        case .answerTimeout: self.init(.busy, fault.detail, retryAfter: .seconds(2))
        case .shuttingDown: self.init(.draining, fault.detail, retryAfter: .seconds(2))
        }
    }
}
