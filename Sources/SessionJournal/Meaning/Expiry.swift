/// An expiry of sessions in a database, which runs in many steps.
package struct Expiry: Sendable {
    /// Rows that end by a time of their own.
    package enum Rows: CaseIterable, Sendable {
        case tombstones, anonymousVisits, senders
    }

    package let lastSeenBefore: PerLifeClass
    package let now: Duration
    package let tombstoneUntil: Duration
    package let limit: Int
    /// The longest use of the anonymous sessions to reclaim; nil to expire all unused sessions and other rows.
    package let usedFor: Duration?
    /// The number of removed sessions.
    package private(set) var count = 0
    /// The rows of which some may have ended.
    package private(set) var ending = Rows.allCases
    package private(set) var hasSessions = true

    package init(lastSeenBefore: PerLifeClass, now: Duration, tombstoneUntil: Duration, limit: Int) {
        (self.lastSeenBefore, self.now) = (lastSeenBefore, now)
        (self.tombstoneUntil, self.limit, usedFor) = (tombstoneUntil, limit, nil)
    }

    /// Expires only anonymous sessions that were used no longer than `usedFor`, and no other rows.
    package init(lastSeenBefore: Duration, usedFor: Duration, tombstoneUntil: Duration, limit: Int) {
        (self.lastSeenBefore, now) = (PerLifeClass(lastSeenBefore), .zero)
        (self.tombstoneUntil, self.limit, self.usedFor, ending) = (tombstoneUntil, limit, usedFor, [])
    }

    /// Reminders that were due before this time no longer keep their sessions.
    package var dueBefore: Duration { now - StoredReminder.sessionLife }

    /// Senders whose last message was received before this time are forgotten.
    package var heardBefore: Duration { now - HeardMessage.life }

    package var isOver: Bool { ending.isEmpty && !hasSessions }

    /// Notes that a step deleted all of these rows that had ended.
    package mutating func noteEnd(of rows: Rows) { ending.removeAll { $0 == rows } }

    /// Returns the number of sessions that the next step examines.
    package func stepSize(atMost most: Int) -> Int { max(0, min(most, limit - count)) }

    /// Returns true if a session expires that was last used at a time.
    package func ends(_ life: LifeClass, created: Duration, lastSeen: Duration) -> Bool {
        guard let usedFor else { return lastSeen < lastSeenBefore[life] }
        return life == .anonymous && lastSeen < lastSeenBefore.anonymous && lastSeen - created <= usedFor
    }

    /// Notes a step that removed sessions.
    ///
    /// - Parameter isLast: True if the step examined all that there were.
    package mutating func removed(_ removed: Int, isLast: Bool) {
        count += removed
        hasSessions = !isLast && count < limit
    }
}
