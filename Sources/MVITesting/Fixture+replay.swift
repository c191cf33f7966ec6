import MVI
import Sessions

extension Fixture {
    /// Reduces the recorded messages of a store again, turn by turn, and compares each state and view state with the
    /// recorded one.
    ///
    /// If the recording contains all turns of the session up to the store's first one, the replay begins with the
    /// feature's initial state. Otherwise, and after missing turns, it begins with the recorded state. A bootstrap may
    /// restart a store with the initial state.
    ///
    /// If the store was exported under an older schema version, its recorded states are migrated. Each one is the start
    /// of the next turn, the first one is not compared, and neither are view states.
    ///
    /// - Returns: the state after each turn, oldest first, migrated if necessary.
    /// - Throws: ``FixtureError`` with the turn's sequence number if a state differs or this feature cannot read a
    ///   recording; without a number if the store has no recorded turns or a newer version of the feature wrote them.
    @discardableResult
    public func replay<F: Feature>(
        _ feature: F, instance: String = F.name
    ) throws(FixtureError) -> [F.State] where F.Message: Decodable, F.Action: Decodable {
        do throws(Replay<F>.Fault) {
            return try Replay(feature, instance: instance, of: session).run()
        } catch {
            throw FixtureError(error)
        }
    }
}

extension FixtureError {
    init<F>(_ fault: Replay<F>.Fault) {
        switch fault {
        case .unreadable(let turn, let sentence): self.init(sentence, sequence: turn)
        case .state(let turn, let recorded, let replayed, let messages):
            let shown = messages.map { "  \(describe($0))" }.joined(separator: "\n")
            self.init(
                """
                The state after turn \(turn) is not the recorded one (- recorded, + replayed):
                \(difference(expected: recorded, actual: replayed))
                \(messages.isEmpty ? "The turn had no messages." : "Its messages:\n\(shown)")
                """, sequence: turn)
        case .view(let turn, let recorded, let replayed):
            self.init(
                """
                The view state after turn \(turn) is not the recorded one (- recorded, + replayed):
                \(difference(expected: recorded, actual: replayed))
                """, sequence: turn)
        }
    }
}
