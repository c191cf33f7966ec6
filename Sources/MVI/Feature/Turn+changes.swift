extension Turn {
    /// Has the feature follow what the turn's messages changed in a state, and then what it changes itself by that.
    @inlinable
    mutating func followChanges(since before: F.State) throws {
        let after = current
        let performed = actions.count
        hasMessages = false
        try runner.feature.onChange(from: before, &self)
        let isDone = !hasMessages && actions.count == performed
        hasMessages = true
        if !isDone { try followOwnChanges(since: after, performed: performed) }
    }

    /// - Parameters:
    ///   - state: the one before the feature's own messages.
    ///   - performed: how many of the actions have been performed.
    @usableFromInline
    mutating func followOwnChanges(since state: F.State, performed: Int) throws {
        var (before, performed) = (state, performed)
        for call in 1...ChangesWithoutEnd.limit {
            try performActions(from: performed)
            if current == before { return }
            if call == ChangesWithoutEnd.limit { throw ChangesWithoutEnd() }
            let after = current
            performed = actions.count
            try runner.feature.onChange(from: before, &self)
            before = after
        }
    }
}

/// Why a turn failed in which one change led to another again and again.
private struct ChangesWithoutEnd: Error, CustomStringConvertible {
    /// How often a feature may follow changes in one turn.
    static let limit = 16

    var description: String {
        "`onChange` was called \(Self.limit) times in one turn, and what it did changed the state each time. Dispatch only "
            + "messages after which the values that it compares stay as they are."
    }
}
