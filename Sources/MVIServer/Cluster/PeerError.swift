/// The reason for which a request to another node has no answer.
public struct PeerError: Error, Sendable, CustomStringConvertible {
    /// The possible effect on the other node.
    public enum Outcome: Sendable {
        /// The request was not sent: no connection, no such host.
        case notSent
        /// The request was sent, wholly or in part: it may have been served.
        case unknown
    }

    public let outcome: Outcome
    /// The failure, for a log.
    public let detail: String

    public init(_ outcome: Outcome, _ detail: String) { (self.outcome, self.detail) = (outcome, detail) }

    public var description: String { detail }
}
