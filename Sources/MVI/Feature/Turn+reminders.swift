extension Turn where F.Action: Codable {
    /// Sets a reminder: the store performs an action once, after a time. The reminder is committed with this turn. It
    /// fires even if no client is connected or the store is not in memory, and late if the server was down.
    ///
    /// Setting the same id again replaces the reminder. A reminder keeps its session alive. A session may have 64
    /// reminders, each at most 30 days ahead; a turn that exceeds this fails. An action that throws is retried, at most
    /// 5 times in all, then passed to `onFailure`; a `Refusal` ends it. The action's turn has no principal.
    public mutating func remind(id: String, after time: Duration, _ action: F.Action) {
        remind(id: id, at: now + time, action)
    }

    /// Sets a reminder for a time on the wall clock, or for now if the time has passed.
    public mutating func remind(id: String, at time: Timestamp, _ action: F.Action) {
        makeRare().reminders.append(.set(id: id, due: time, action))
    }
}

extension Turn {
    /// Cancels a reminder, if there is one.
    public mutating func cancelReminder(_ id: String) {
        makeRare().reminders.append(.cancel(id: id))
    }
}

/// A change of a reminder that a turn requests.
@usableFromInline
package enum ReminderRequest<F: Feature>: Sendable {
    case set(id: String, due: Timestamp, F.Action)
    case cancel(id: String)
    case tell(MessageRequest)
}

/// A change of a reminder, or a message, with the action as JSON.
@usableFromInline
package struct EncodedReminder: Sendable {
    /// Empty for a message.
    package let id: String
    /// Nil to cancel the reminder.
    package let action: (due: Duration, json: [UInt8])?
    /// The message whose action it is.
    package let message: MessageRequest?

    package init(id: String, action: (due: Duration, json: [UInt8])?, message: MessageRequest? = nil) {
        (self.id, self.action, self.message) = (id, action, message)
    }
}

/// The error of a turn that exceeds the session's number of reminders, or sets one too far ahead.
public struct ReminderLimitExceeded: Error, Sendable, Equatable, CustomStringConvertible {
    /// A description with advice.
    public let description: String

    package init(_ description: String) { self.description = description }
}
