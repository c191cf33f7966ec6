import MVI

/// The visits of all spaces of a journal in memory.
struct MemoryVisits {
    private var visits: [String: [SessionKey: Visit]] = [:]
    /// The sessions that visited each space, and those of each subject. None is empty.
    private var spaces: [SessionKey: Set<String>] = [:]
    private var subjects: [SubjectBytes: Set<String>] = [:]
    /// No anonymous visit is older.
    private var oldestAnonymous = Duration.nanoseconds(Int64.max)

    mutating func note(_ new: Visit, in space: SessionKey) {
        let visit = visits[new.session]?[space].map(new.replacing) ?? new
        remove(CollectionOfOne(new.session), from: space)
        visits[new.session, default: [:]][space] = visit
        spaces[space, default: []].insert(new.session)
        if let subject = visit.subject {
            subjects[SubjectBytes(subject), default: []].insert(new.session)
        } else {
            oldestAnonymous = min(oldestAnonymous, visit.lastUse)
        }
    }

    /// Notes the subject of a session that had none.
    mutating func signIn(_ session: String, _ subject: Subject) {
        for (space, visit) in visits[session] ?? [:] where visit.subject == nil {
            note(Visit(session: session, subject: subject, lastUse: visit.lastUse), in: space)
        }
    }

    mutating func forget(_ subject: Subject) {
        for session in subjects[SubjectBytes(subject)] ?? [] {
            for (space, visit) in visits[session] ?? [:] where subject.isSame(as: visit.subject) {
                visits[session]?[space]?.isForgotten = true
            }
        }
    }

    func found(_ query: VisitQuery, limit: Int) -> [(SessionKey, Visit)] {
        let sessions: Set<String>?
        switch query {
        case .subject(let subject): sessions = subjects[SubjectBytes(subject)] ?? []
        case .forgotten: sessions = nil
        }
        var found: [(SessionKey, Visit)] = []
        for session in sessions.map(Array.init) ?? Array(visits.keys) {
            for (space, visit) in visits[session] ?? [:] where visit.answers(query) { found.append((space, visit)) }
            if found.count >= limit { break }
        }
        return Array(found.prefix(limit))
    }

    mutating func remove(_ sessions: some Sequence<String>, from space: SessionKey) {
        for session in sessions {
            guard let visit = visits[session]?.removeValue(forKey: space) else { continue }
            if visits[session]?.isEmpty == true { visits[session] = nil }
            spaces[space]?.remove(session)
            guard let subject = visit.subject.map(SubjectBytes.init),
                visits[session]?.values.contains(where: { $0.subject.map(SubjectBytes.init) == subject }) != true
            else { continue }
            subjects[subject]?.remove(session)
            if subjects[subject]?.isEmpty == true { subjects[subject] = nil }
        }
        if spaces[space]?.isEmpty == true { spaces[space] = nil }
    }

    mutating func removeAll(of space: SessionKey) { remove(spaces[space] ?? [], from: space) }

    /// Removes anonymous visits before a time since 1970.
    mutating func expire(before time: Duration) {
        guard oldestAnonymous < time else { return }
        oldestAnonymous = .nanoseconds(Int64.max)
        for (session, places) in visits {
            for (space, visit) in places where visit.subject == nil {
                if visit.lastUse < time {
                    remove(CollectionOfOne(session), from: space)
                } else {
                    oldestAnonymous = min(oldestAnonymous, visit.lastUse)
                }
            }
        }
    }

    func visits(of space: SessionKey) -> [Visit] {
        (spaces[space] ?? []).compactMap { visits[$0]?[space] }.sorted { $0.session < $1.session }
    }
}

extension Visit {
    fileprivate func answers(_ query: VisitQuery) -> Bool {
        switch query {
        case .subject(let subject): subject.isSame(as: self.subject)
        case .forgotten: isForgotten
        }
    }
}
