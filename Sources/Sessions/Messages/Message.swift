import LibCrypto
import MVI
import SessionJournal
import WireJSON

/// A message to a store of another log. It waits as a reminder of its teller's log, which is committed with the turn that
/// told it and moves with the session, until its receiver has run it.
package struct Message: Hashable, Sendable {
    /// The feature instance of the receiver.
    package let feature: FeatureID
    package let receiver: Receiver
    /// The action as JSON.
    package let action: [UInt8]
    /// See `MessageRequest`.
    package let hops: Int
    /// The number of the turn that told it.
    package let number: UInt64
    /// Its place among the messages of that turn.
    let index: UInt8
    /// The epoch in which it was told: after a loss of commits its number may name another message.
    let epoch: String

    /// The maximum number of messages that wait in a session.
    static let limit = 256
    /// The maximum number of bytes of an action.
    static let sizeLimit = 64 * 1024
    /// The maximum number of messages in a row.
    static let hopLimit = 16
    /// The time for which a message is tried.
    static let life: Duration = .seconds(24 * 3600)
    /// The time after the commit at which the reminders' clock looks after a message. Earlier, its session tells it.
    static let grace: Duration = .seconds(2)

    // Not ASCII: see `TimedEvent`.
    private static let prefix = "‹message› "

    /// Reads a stored message. Returns nil if this build cannot read it.
    init?(_ stored: StoredReminder) {
        let place = stored.id.dropFirst(Self.prefix.count).split(separator: ".")
        guard Self.names(stored), place.count == 2, let number = UInt64(place[0]), let index = UInt8(place[1]),
            number < 1 << 54,
            let text = try? WireJSON.decode(Text.self, from: stored.action), let feature = FeatureID(text.to),
            let receiver = text.receiver
        else { return nil }
        (self.feature, self.receiver, self.number, self.index) = (feature, receiver, number, index)
        (action, hops, epoch) = (text.action.bytes, text.hops, text.epoch)
    }

    /// True if a reminder is a message, perhaps one that this build cannot read.
    static func names(_ stored: StoredReminder) -> Bool { stored.number == 0 && stored.id.hasPrefix(prefix) }

    /// The JSON of a stored message.
    private struct Text: Decodable {
        let to: String
        var session: String?
        var subject: Subject?
        let hops: Int
        let epoch: String
        let action: JSONText

        var receiver: Receiver? {
            switch (session, subject) {
            case (nil, nil): .shared
            case (let session?, nil): .session(session)
            case (nil, let subject?): .subject(subject)
            default: nil
            }
        }
    }

    /// - Parameter index: its place among the messages of its turn.
    static func stored(
        _ request: MessageRequest, of feature: FeatureID, number: UInt64, index: Int, epoch: String, due: Duration,
        action: [UInt8]
    ) -> StoredReminder {
        var text = JSONObject(size: action.count + 160)
        text.add("to", request.instance)
        switch request.receiver.kind {
        case .shared: break
        case .session(let id): text.add("session", id)
        case .subject(let subject):
            var object = JSONObject()
            object.add("issuer", subject.issuer)
            object.add("id", subject.id)
            text.add("subject", json: object.close())
        }
        text.add("hops", request.hops)
        text.add("epoch", epoch)
        text.add("action", json: action)
        return StoredReminder(
            feature: feature, id: "\(prefix)\(number).\(index)", due: due, number: 0, action: text.close(),
            notBefore: due + grace)
    }

    /// True if it was told before another message of its log.
    func isBefore(_ other: Message) -> Bool { (number, index) < (other.number, other.index) }

    /// Its name in its receiver's journal.
    ///
    /// - Parameter session: the id of its teller's session.
    func heard(from session: String) -> HeardMessage {
        let sender = SHA256.digest(Array("\(session)\n\(epoch)".utf8)).prefix(HeardMessage.senderSize)
        return HeardMessage(sender: Array(sender), number: number << 8 | UInt64(index))
    }

    func undelivered(_ reason: UndeliveredMessage.Reason, _ error: StoreError) -> UndeliveredMessage {
        UndeliveredMessage(
            instance: feature.text, receiver: receiver, reason: reason, detail: error.description
        ) { [action] type in
            try? WireJSON.decode(type, from: action, filling: nil)
        }
    }
}

extension MessageRequest {
    /// Throws if a turn may not tell the message.
    func encoded() throws(StoreError) -> [UInt8] {
        guard hops <= Message.hopLimit else {
            throw StoreError(
                .failed,
                "The message to \"\(instance)\" would be the \(hops)th in a row; \(Message.hopLimit) are allowed. Do not "
                    + "answer each message with a message.")
        }
        guard FeatureID(instance) != nil else {
            throw StoreError(.failed, "The message goes to \"\(instance)\", which is not the name of a store.")
        }
        let json = try StoreCoding.encoding { () throws(WireEncodingError) in try WireJSON.encodeStored(action).bytes }
        try StoreCoding.check(json, "message", limit: Message.sizeLimit)
        return json
    }
}
