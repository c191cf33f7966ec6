import MVI

/// Checks that every journal makes before a change.
extension CredentialChange {
    /// Returns the reason why the session refuses the change, without looking at other sessions, or nil if it is valid.
    ///
    /// - Parameters:
    ///   - owner: The session's subject.
    ///   - credentials: The session's credentials.
    package func fault(subject owner: Subject?, credentials: [(token: TokenHash, number: Int)]) -> StoreError? {
        let tokens = Set(kept.lazy.map(\.token))
        guard tokens.count == kept.count, tokens.isDisjoint(with: removed),
            Set(kept.lazy.map(\.number)).count == kept.count
        else { return StoreError(.invalid, "A change of credentials names a token or a number twice.") }
        guard Subject.isSame(expecting, owner),
            requires.allSatisfy({ required in credentials.contains { $0.token == required } })
        else { return .credentialsChanged }
        // Two writers that each add a credential choose the same number.
        let others = credentials.lazy.filter { !tokens.contains($0.token) && !removed.contains($0.token) }
        let numbers = Set(others.map(\.number))
        return kept.contains { numbers.contains($0.number) } ? .credentialsChanged : nil
    }

    /// Returns the session's credentials after the change, ordered by number.
    package func merged(into old: [StoredCredential]) -> [StoredCredential] {
        let changed = Set(kept.map(\.token) + removed)
        return (old.filter { !changed.contains($0.token) } + kept).sorted { $0.number < $1.number }
    }
}

extension Subject {
    /// True if two subjects are equal byte for byte, see `SubjectBytes`.
    package func isSame(as other: Subject?) -> Bool { Self.isSame(self, other) }

    package static func isSame(_ left: Subject?, _ right: Subject?) -> Bool {
        left.map(SubjectBytes.init) == right.map(SubjectBytes.init)
    }
}
