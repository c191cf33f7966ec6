extension Turn where F.Action: Codable {
    /// Has the store perform an action when a time has passed, once, whatever happens meanwhile: a reminder is kept with
    /// this turn, and fires also when no client watches, the store has left memory or the server was down; then late.
    ///
    /// Setting the same id again replaces it. A reminder keeps its session alive. A session has 64 at most, at most 30 days
    /// ahead: a turn that asks for more fails. An action that throws is tried 5 times, then handed to `onFailure`; a
    /// `Refusal` uses it up. The action's turn has no principal.
    public mutating func remind(id: String, after time: Duration, _ action: F.Action) {
        remind(id: id, at: now + time, action)
    }

    /// The same at a time on the wall clock; at once if that is over.
    public mutating func remind(id: String, at time: Timestamp, _ action: F.Action) {
        makeRare().reminders.append(.set(id: id, due: time, action))
    }
}

extension Turn {
    /// Forgets a reminder; nothing happens if there is none.
    public mutating func cancelReminder(_ id: String) {
        makeRare().reminders.append(.cancel(id: id))
    }
}

/// A change of a reminder that a turn asks for.
@usableFromInline
package enum ReminderRequest<F: Feature>: Sendable {
    case set(id: String, due: Timestamp, F.Action)
    case cancel(id: String)
}

/// A reminder with its action as JSON, to be set; or to be forgotten.
@usableFromInline
package struct EncodedReminder: Sendable {
    package let id: String
    /// Nil to forget it.
    package let action: (due: Duration, json: [UInt8])?

    package init(id: String, action: (due: Duration, json: [UInt8])?) { (self.id, self.action) = (id, action) }
}

/// The error of a turn that asked for more reminders than a session may have, or for one too far ahead.
public struct ReminderLimitExceeded: Error, Sendable, Equatable, CustomStringConvertible {
    /// The fault and its remedy.
    public let description: String

    package init(_ description: String) { self.description = description }
}
