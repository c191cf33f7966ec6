import MVI

/// What every engine asks of a change before it makes it.
extension CredentialChange {
    /// Why a session cannot be changed so, as far as the session itself tells; nil if it can.
    ///
    /// - Parameters:
    ///   - owner: whose the session is.
    ///   - credentials: those that it has.
    package func fault(subject owner: Subject?, credentials: [(token: TokenHash, number: Int)]) -> StoreError? {
        let tokens = Set(kept.lazy.map(\.token))
        guard tokens.count == kept.count, tokens.isDisjoint(with: removed),
            Set(kept.lazy.map(\.number)).count == kept.count
        else { return StoreError(.invalid, "A change of credentials names a token or a number twice.") }
        guard Subject.isSame(expecting, owner),
            requires.allSatisfy({ required in credentials.contains { $0.token == required } })
        else { return .credentialsChanged }
        // Two writers that add a credential each come to the same number.
        let others = credentials.lazy.filter { !tokens.contains($0.token) && !removed.contains($0.token) }
        let numbers = Set(others.map(\.number))
        return kept.contains { numbers.contains($0.number) } ? .credentialsChanged : nil
    }

    /// What a session's credentials become, in the order of their numbers.
    package func merged(into old: [StoredCredential]) -> [StoredCredential] {
        let changed = Set(kept.map(\.token) + removed)
        return (old.filter { !changed.contains($0.token) } + kept).sorted { $0.number < $1.number }
    }
}

extension Subject {
    /// Whether two subjects are the same byte for byte, see `SubjectBytes`.
    package func isSame(as other: Subject?) -> Bool { Self.isSame(self, other) }

    package static func isSame(_ left: Subject?, _ right: Subject?) -> Bool {
        left.map(SubjectBytes.init) == right.map(SubjectBytes.init)
    }
}
