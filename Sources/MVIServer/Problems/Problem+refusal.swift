import MicroHTTP
import MVI
import Sessions
import WireJSON

extension Problem {
    /// Why there is no session.
    init(_ refusal: SessionTableRefusal) {
        switch refusal {
        case .full:
            self.init(
                .tooManySessions, "The server has as many sessions in use as it may have.", retryAfter: .seconds(60))
        case .notKept(let failure) where failure.code == .full:
            self.init(.storageFull, "What sessions are kept in has no room left.")
        case .notKept:
            self.init(
                .journalUnavailable, "What sessions are kept in cannot be used now; try again.",
                retryAfter: .seconds(2))
        }
    }

    /// The session left memory while a request was on its way, which takes longer than any request should.
    static let leftMemory = Problem(
        .journalUnavailable, "The session left memory while the request was under way; try again.",
        retryAfter: .seconds(1))

    /// Why there is no store.
    init(_ refusal: StoreRefusal, _ feature: FeatureID) {
        switch refusal {
        case .featureNotFound:
            self.init(.featureNotFound, "There is no \"\(feature.name)\" with the key \"\(feature.key ?? "")\".")
        case .tooManyStores(let limit):
            self.init(.tooManyStores, "The session has \(limit) stores, which is as many as it may have.")
        case .tooManyWaits:
            self.init(
                .tooManyWaits, "As many requests as may wait do so already.", retryAfter: .seconds(1))
        case .sessionEnded:
            self.init(.sessionEnded, "The session was ended while the request was under way.")
        case .notKept(let failure): self.init(SessionTableRefusal.notKept(failure))
        case .evicted: self = .leftMemory
        case .failed:
            self.init(.stateUnavailable, "The store of \"\(feature)\" could not be made; the server's log says why.")
        }
    }

    /// Why an intent did not run.
    init(_ refusal: IntentRefusal, _ feature: FeatureID, _ definition: FeatureDefinition?) {
        switch refusal {
        case .store(let refusal): self.init(refusal, feature)
        case .malformed(let offset, let reason):
            self.init(.invalidJSON, "The body is not JSON at byte \(offset): \(reason).")
        case .mismatch(let issues): self.init(issues, feature, definition)
        case .receiptPending:
            self.init(
                .intentInProgress, "The intent with this `Idempotency-Key` or `Intent-Seq` is not committed yet.",
                retryAfter: .seconds(1))
        case .receiptConflict:
            self.init(.idempotencyKeyReused, "This `Idempotency-Key` or `Intent-Seq` was used with another body.")
        case .tooManyReceipts(let retryAfter):
            self.init(
                .tooManyReceipts, "The session has as many recent idempotency keys as the server keeps.",
                retryAfter: retryAfter)
        case .outOfSequence(let expected):
            self.init(.outOfSequence, "`Intent-Seq` \(expected) is to come first in this `Intent-Epoch`.")
            fields.append(ResponseField("Expected-Seq", "\(expected)"))
        case .receiptExpired:
            self.init(
                .receiptExpired, "This `Intent-Seq` was used, and what came of it is not remembered any more.")
        case .replayed(let status, _):
            preconditionFailure("an answer of status \(status) that was kept is sent as it is")
        case .rejected(let rejection): self.init(rejection, feature)
        }
    }

    private init(
        _ issues: [WireDecodingError.Issue], _ feature: FeatureID, _ definition: FeatureDefinition?
    ) {
        let known = definition.map { $0.intentTypes.joined(separator: ", ") } ?? ""
        self.init(
            .invalidIntent,
            issues.contains { $0.unknownType != nil }
                ? "The feature \"\(feature.name)\" has no such intent. It has: \(known)."
                : "The body is not an intent of \"\(feature.name)\". `errors` says what is wrong where.")
        self.issues = issues.map { Issue(pointer: $0.pointer, detail: $0.detail) }
    }

    private init(_ rejection: IntentRejection, _ feature: FeatureID) {
        switch rejection {
        case .disposed:
            self.init(.storeDisposed, "The store of \"\(feature)\" was disposed before the intent's turn came.")
        case .passivated:
            self.init(
                .busy, "The store of \"\(feature)\" left memory before the intent's turn came.",
                retryAfter: .seconds(1))
        case .busy:
            self.init(.busy, "Too many intents wait for \"\(feature)\" already.", retryAfter: .seconds(1))
        case .preconditionFailed:
            self.init(.preconditionFailed, "The state of \"\(feature)\" has none of the tags in `If-Match`.")
        case .refused(let refusal): self.init(refusal)
        case .failed(let failure):
            self.init(
                .intentFailed,
                "The feature failed at the intent \"\(failure.intentID.text)\"; nothing of it was kept. The server's "
                    + "log says why.")
        case .notCommitted(let failure): self.init(failure, feature)
        }
    }

    /// An interceptor's no, in its author's words.
    private init(_ refusal: Refusal) {
        switch refusal.code {
        case .forbidden: self.init(.forbidden, refusal.detail)
        case .invalid: self.init(.intentRefused, refusal.detail)
        case .tooMany(let retryAfter): self.init(.tooManyRequests, refusal.detail, retryAfter: retryAfter)
        }
    }

    private init(_ failure: CommitFailure, _ feature: FeatureID) {
        switch failure.code {
        case .unavailable:
            self.init(.journalUnavailable, "The turn could not be kept; try again.", retryAfter: .seconds(2))
        case .contended:
            self.init(
                .journalUnavailable, "Others changed the same state again and again; try again.",
                retryAfter: .seconds(1))
        case .duplicate:
            self.init(
                .intentInProgress, "The intent was kept before; repeat the request to get its answer.",
                retryAfter: .seconds(1))
        case .full: self.init(.storageFull, "There was no room to keep the turn.")
        case .tooLarge: self.init(.stateTooLarge, failure.detail)
        case .invalid:
            self.init(
                .stateUnavailable, "\"\(feature)\" produced a state or label that JSON cannot hold; nothing was kept.")
        case .disposed: self.init(.storeDisposed, "The store of \"\(feature)\" was disposed meanwhile.")
        }
    }
}
