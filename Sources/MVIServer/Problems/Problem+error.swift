import MVI
import MicroHTTP
import SessionJournal
import Sessions

extension Problem {
    /// The problem that a client gets for an error.
    ///
    /// - Parameters:
    ///   - feature: the feature instance of the request; nil for none or several.
    ///   - features: the served features, for a refusal of an unknown intent.
    init(_ error: StoreError, _ feature: FeatureID? = nil, in features: FeatureRegistry? = nil) {
        // A test checks that each code of this package has a type.
        let (type, answer) =
            ProblemType.of(error.code)
            ?? (
                .journalUnavailable,
                .init(text: "The request cannot be served now; try again.", retryAfter: .seconds(2))
            )
        var detail =
            answer.text?(feature ?? Self.several) ?? (error.detail.isEmpty ? "\(type.title)." : error.detail)
        if error.code == .unknownIntent, let feature, let definition = features?.definition(for: feature) {
            detail += " It has: \(definition.intentTypes.joined(separator: ", "))."
        }
        if error.code == .outOfSequence, let expected = error.expectedNumber {
            detail = "The next `Intent-Seq` of this `Intent-Epoch` is \(expected)."
        }
        if error.code == .failed, let failure = error.failure {
            detail =
                "The feature failed while it handled the intent \"\(failure.intentID.text)\". The turn was discarded; "
                + "see the server's log."
        }
        if let retryAfter = error.retryAfter ?? answer.retryAfter {
            self.init(type, detail, retryAfter: retryAfter)
        } else {
            self.init(type, detail)
        }
        code = error.refusalCode
        issues = error.issues.map { Issue(pointer: $0.pointer, detail: $0.detail) }
        if let expected = error.expectedNumber { fields.append(ResponseField("Expected-Seq", "\(expected)")) }
    }

    /// A placeholder for one of several features of a stream.
    private static let several = FeatureID(name: "one-of-them", key: nil)
}

extension Problem {
    /// A problem for a refusal of the HTTP layer.
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
