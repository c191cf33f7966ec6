import Logging

/// Logs the state of a key set: each change once, a lasting failure every few minutes.
struct KeyLog {
    private static let repetition: Duration = .seconds(300)

    private let logger: Logger
    private let source: String
    private var names: [String]?
    private var leftOut: [String] = []
    private var failure: (text: String, time: Duration)?

    init(logger: Logger, source: String) {
        (self.logger, self.source) = (logger, source)
    }

    mutating func read(_ document: KeySetDocument) {
        if document.names != names || failure != nil {
            logger.info(
                "Read the keys for JWTs",
                metadata: ["source": "\(source)", "keys": "\(document.names.joined(separator: ", "))"])
        }
        if !document.leftOut.isEmpty, document.leftOut != leftOut {
            logger.notice(
                "Ignored unusable JWT keys",
                metadata: ["source": "\(source)", "keys": "\(document.leftOut.joined(separator: "; "))"])
        }
        (names, leftOut, failure) = (document.names, document.leftOut, nil)
    }

    mutating func failed(_ text: String, at time: Duration, hasKeys: Bool, keep: Duration) {
        if let failure, failure.text == text, time - failure.time < Self.repetition { return }
        failure = (text, time)
        let consequence =
            hasKeys
            ? "the last ones are used until they are \(keep.components.seconds / 3600) hours old" : "no JWT is accepted"
        logger.error(
            "The keys for JWTs cannot be read; \(consequence)",
            metadata: ["source": "\(source)", "reason": "\(text)"])
    }

    mutating func tooOld(_ keep: Duration) {
        names = nil
        logger.error(
            "The keys for JWTs are too old; no JWT is accepted",
            metadata: ["source": "\(source)", "hours": "\(keep.components.seconds / 3600)"])
    }
}
