import MicroHTTP

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
        case .tooManyConnections, .answerTimeout: self.init(.busy, fault.detail, retryAfter: .seconds(2))
        case .shuttingDown: self.init(.draining, fault.detail, retryAfter: .seconds(2))
        }
    }
}
