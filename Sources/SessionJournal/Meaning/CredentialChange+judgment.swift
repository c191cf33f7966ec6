import MVI

/// The access to a session by its rows, as of one moment.
package struct StoredAccess {
    /// The session's own token.
    package var token: TokenHash
    package var subject: Subject?
    package var isShared: Bool
    package var isSpace: Bool
    package var credentials: [(token: TokenHash, number: Int)]

    package init(
        token: TokenHash, subject: Subject?, isShared: Bool, isSpace: Bool = false,
        credentials: [(token: TokenHash, number: Int)]
    ) {
        (self.token, self.subject, self.isShared, self.isSpace) = (token, subject, isShared, isSpace)
        self.credentials = credentials
    }
}

/// A journal's knowledge of a token.
package enum TokenName: Hashable {
    case unknown
    case session(SessionKey)
    /// It is remembered as ended.
    case ended
}

extension CredentialChange {
    /// Checks the change, before anything is written: the same reasons in the same order in every journal.
    ///
    /// - Parameters:
    ///   - name: Returns what a token names.
    ///   - hasShared: Returns true if a subject has a shared session.
    /// - Returns: The tokens to remember as ended: those that the session had, except its own, which still names it.
    package func endedTokens(
        _ stored: StoredAccess, name: (TokenHash) throws -> TokenName, hasShared: (Subject) throws -> Bool
    ) rethrows -> Result<[TokenHash], StoreError> {
        if stored.isSpace { return .failure(.spaceHasNoCredentials) }
        let tokens = Set(kept.lazy.map(\.token))
        guard tokens.count == kept.count, tokens.isDisjoint(with: removed),
            Set(kept.lazy.map(\.number)).count == kept.count
        else { return .failure(StoreError(.invalid, "A change of credentials names a token or a number twice.")) }
        let had = Set(stored.credentials.map(\.token))
        // Two writers that each add a credential choose the same number.
        let others = stored.credentials.lazy.filter { !tokens.contains($0.token) && !removed.contains($0.token) }
        guard Subject.isSame(expecting, stored.subject), requires.allSatisfy(had.contains),
            Set(others.map(\.number)).isDisjoint(with: kept.lazy.map(\.number))
        else { return .failure(.credentialsChanged) }
        for credential in kept {
            switch try name(credential.token) {
            case .session(let owner) where owner != session: return .failure(.tokenIsUsed)
            case .ended: return .failure(.credentialsChanged)
            default: break
            }
        }
        if stored.isShared, let subject, !subject.isSame(as: stored.subject), try hasShared(subject) {
            return .failure(.sharedExists)
        }
        return .success(removed.filter { had.contains($0) && $0 != stored.token })
    }

    /// Returns the session's credentials after the change, ordered by number.
    package func merged(into old: [StoredCredential]) -> [StoredCredential] {
        let changed = Set(kept.map(\.token) + removed)
        let kept = keeping(Dictionary(uniqueKeysWithValues: old.map { ($0.token, $0.settings) })).kept
        var merged = (old.filter { !changed.contains($0.token) } + kept).sorted { $0.number < $1.number }
        if let settings, let index = merged.firstIndex(where: { $0.token == settings.token }) {
            merged[index].settings = settings.value
        }
        return merged
    }

    /// Returns the change with the present settings of the credentials that it replaces: a renewal on another node knows
    /// older ones.
    package func keeping(_ settings: [TokenHash: ClientSettings?]) -> CredentialChange {
        var change = self
        for index in kept.indices {
            if let present = settings[kept[index].token] { change.kept[index].settings = present }
        }
        return change
    }
}

extension Subject {
    /// True if two subjects are equal byte for byte, see `SubjectBytes`.
    package func isSame(as other: Subject?) -> Bool { Self.isSame(self, other) }

    package static func isSame(_ left: Subject?, _ right: Subject?) -> Bool {
        left.map(SubjectBytes.init) == right.map(SubjectBytes.init)
    }
}
