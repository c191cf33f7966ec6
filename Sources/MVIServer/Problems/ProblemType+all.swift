extension ProblemType {
    /// Every type, by status.
    static let all: [ProblemType] = [
        badRequest, invalidJSON, unauthorized, crossSite, forbidden, notFound, featureNotFound, sessionNotFound,
        sessionEnded, methodNotAllowed, notAcceptable, requestTimeout, intentInProgress, outOfSequence,
        receiptExpired, storeDisposed, preconditionFailed, bodyTooLarge, unsupportedMediaType, invalidIntent,
        idempotencyKeyReused, intentRefused,
        tooManyRequests, tooManyStores, tooManyReceipts, tooManyWaits, headTooLarge, intentFailed, stateUnavailable,
        unknownTransferCoding, tooManySessions, tooManyStreams, busy, draining, notReady, journalUnavailable,
        storageFull, stateTooLarge,
    ]
}
