/// An error of a request to another node.
public struct PeerError: Error, Sendable, CustomStringConvertible {
    /// The possible effects on the other node.
    public enum Outcome: Sendable {
        /// The request was not sent: no connection, or an unknown host.
        case notSent
        /// The request was sent, completely or in part. It may have been served.
        case unknown
    }

    public let outcome: Outcome
    /// A description for a log.
    public let detail: String

    public init(_ outcome: Outcome, _ detail: String) { (self.outcome, self.detail) = (outcome, detail) }

    public var description: String { detail }
}
