import MVI

/// A session whose clients sent intents to a space, with its subject: by it a person's data in spaces is found.
package struct Visit: Sendable, Hashable {
    /// The session's public id; with a suffix if its client is another person than who used it before.
    package var session: String
    /// Its subject; nil for one that was always anonymous.
    package var subject: Subject?
    /// Time since 1970, noted about once a day.
    package var lastUse: Duration
    /// True if the subject's data is to be deleted from the space.
    package var isForgotten: Bool

    package init(session: String, subject: Subject? = nil, lastUse: Duration, isForgotten: Bool = false) {
        (self.session, self.subject, self.lastUse) = (session, subject, lastUse)
        self.isForgotten = isForgotten
    }

    /// Returns this visit with what it keeps of an earlier one in its place.
    func replacing(_ old: Visit) -> Visit {
        Visit(
            session: session, subject: subject ?? old.subject, lastUse: max(lastUse, old.lastUse),
            isForgotten: isForgotten || old.isForgotten)
    }
}

/// A visit and its space.
package struct SpaceVisit: Sendable, Hashable {
    package var space: SpaceName
    package var key: SessionKey
    package var visit: Visit

    package init(space: SpaceName, key: SessionKey, visit: Visit) {
        (self.space, self.key, self.visit) = (space, key, visit)
    }
}

/// A search for visits.
package enum VisitQuery: Sendable {
    case subject(Subject)
    /// Those of deleted subjects.
    case forgotten
}
