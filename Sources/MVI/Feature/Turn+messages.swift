/// The log to whose store a message goes: see ``Turn/tell(_:_:key:in:)``.
public struct Receiver: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case shared
        case session(String)
        case subject(Subject)
    }

    package let kind: Kind

    package init(kind: Kind) { self.kind = kind }

    /// The feature's shared store.
    public static let shared = Self(kind: .shared)
    /// A session's own store: see ``Sender/session``.
    public static func session(_ id: String) -> Self { Self(kind: .session(id)) }
    /// The user's own store in each of the user's sessions.
    public static func subject(_ subject: Subject) -> Self { Self(kind: .subject(subject)) }
}

extension Turn {
    /// Tells another log's store something, with this turn's commit: the store performs the action in a turn of its own, after
    /// the commit, also if the server ends in between. The store is created if it does not exist.
    ///
    /// ```swift
    /// turn.tell(Floor.self, .paid(order), key: "7")
    /// turn.tell(Visit.self, .tableReady, in: .session(party.session))
    /// ```
    ///
    /// The action runs once. What one log tells another arrives in order. A receiver that is not available is tried for 24
    /// hours, with growing pauses. An action that throws is tried 5 times. A message that is refused, has no receiver or is
    /// given up holds up no other one, and becomes an action of the teller, see ``Feature/undelivered(_:)``. Access rules
    /// do not judge messages.
    ///
    /// 256 messages of a session may wait. A turn that tells more while receivers are not available is not run: its client gets
    /// 503, a reminder waits. A message may lead to further ones, 16 in a row; a turn that exceeds this fails.
    /// The end of a session waits two seconds for its messages; what cannot be told by then goes with it.
    public mutating func tell<Other: Feature>(
        _ feature: Other.Type, _ action: Other.Action, key: String? = nil, in receiver: Receiver = .shared
    ) where Other.Action: Codable {
        let message = MessageRequest(
            instance: Other.instance(key), receiver: receiver, action: action, time: now, hops: context.hops + 1)
        makeRare().reminders.append(.tell(message))
    }
}

extension Feature {
    /// None.
    public static func undelivered(_ message: UndeliveredMessage) -> Action? { nil }
}

/// A message that its receiver did not run, and will not.
public struct UndeliveredMessage: Sendable {
    /// The cause of the failure.
    public enum Reason: String, Codable, Sendable, Equatable {
        /// The receiver refused it with a `Refusal`.
        case refused
        /// The session has ended, the user has none, or the key's maker refused the store.
        case gone
        /// The receiver's action threw.
        case failed
        /// The receiver was not available for 24 hours.
        case expired
    }

    /// The feature instance, such as `floor:7`.
    public let instance: String
    /// The log that it was told to.
    public let receiver: Receiver
    /// The cause of the failure.
    public let reason: Reason
    /// The cause in words, for logs.
    public let detail: String
    private let read: @Sendable (any Decodable.Type) -> (any Decodable)?

    package init(
        instance: String, receiver: Receiver, reason: Reason, detail: String,
        read: @escaping @Sendable (any Decodable.Type) -> (any Decodable)?
    ) {
        (self.instance, self.receiver, self.reason, self.detail) = (instance, receiver, reason, detail)
        self.read = read
    }

    /// Creates one for a test.
    public init<Other: Feature>(
        _ feature: Other.Type, _ action: Other.Action, key: String? = nil, in receiver: Receiver = .shared,
        reason: Reason, detail: String = ""
    ) where Other.Action: Codable {
        self.init(instance: Other.instance(key), receiver: receiver, reason: reason, detail: detail) { type in
            type == Other.Action.self ? action : nil
        }
    }

    /// The action if it was told to this feature; nil if it was not, or if this build cannot read it.
    public func action<Other: Feature>(of feature: Other.Type) -> Other.Action? where Other.Action: Codable {
        guard instance == Other.name || instance.hasPrefix(Other.name + ":") else { return nil }
        return read(Other.Action.self) as? Other.Action
    }
}

/// A message that a turn tells.
@usableFromInline
package struct MessageRequest: Sendable {
    /// The feature instance of the receiver.
    @usableFromInline package let instance: String
    package let receiver: Receiver
    package let action: any Encodable & Sendable
    package let time: Timestamp
    /// The number of messages in a row that led to it, with itself.
    package let hops: Int
}

/// The message that a turn runs for.
@usableFromInline
package struct MessageOrigin: Sendable {
    /// The id of the session, or of the space, that told it.
    @usableFromInline package let session: String
    /// The number of the turn that told it.
    @usableFromInline package let number: UInt64
    /// See `MessageRequest`.
    package let hops: Int

    package init(session: String, number: UInt64, hops: Int) {
        (self.session, self.number, self.hops) = (session, number, hops)
    }
}
