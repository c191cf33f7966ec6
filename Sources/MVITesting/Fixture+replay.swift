import MVI
import WireJSON

extension Fixture {
    /// Reduces the recorded messages of a store again, turn by turn, and compares each state with the recorded one.
    ///
    /// Begins with the feature's initial state if the recording is whole up to the store's first turn, that is, if no
    /// earlier turn of the session is missing; else that turn's state is taken as it was recorded. The same goes for a
    /// turn after others that are missing. A bootstrap may begin a new life of the store, with the initial state.
    ///
    /// - Returns: the state after each turn, oldest first.
    /// - Throws: ``FixtureError`` with the turn's sequence number if a state differs or a recording is none of this
    ///   feature as it is now; without one if nothing of the store was recorded.
    @discardableResult
    public func replay<F: Feature>(
        _ feature: F, instance: String = F.name
    ) throws(FixtureError) -> [F.State] where F.Message: Decodable, F.Action: Decodable {
        if let stored = stores.first(where: { $0.feature == instance }) { try checkVersion(F.self, stored) }
        let initialState = feature.initialState
        let filling = try Array("{\"state\":".utf8) + encoded(initialState) + Array("}".utf8)
        var states: [F.State] = []
        var head: F.State? = initialState
        var expected: UInt64 = 1
        for turn in turns {
            // Whatever is missing may have been a turn of this store.
            if turn.sequence != expected { head = nil }
            expected = turn.sequence + 1
            guard turn.feature == instance else { continue }
            let recording = try recording(of: turn, F.self, filling: filling)
            try check(recording, turn, feature, from: head, initialState)
            states.append(recording.state)
            head = recording.state
        }
        guard !states.isEmpty else {
            let others = Set(turns.map { "\"\($0.feature)\"" }).sorted().joined(separator: ", ")
            throw FixtureError(
                "The fixture has no recorded turn of \"\(instance)\". It has turns of: "
                    + "\(others.isEmpty ? "nothing; was recording on?" : others + ".")")
        }
        return states
    }

    private func recording<F: Feature>(
        of turn: Turn, _ feature: F.Type, filling: [UInt8]
    ) throws(FixtureError) -> TurnRecording<F> where F.Message: Decodable, F.Action: Decodable {
        do throws(WireDecodingError) {
            return try WireJSON.decode(TurnRecording<F>.self, from: turn.recording.bytes, filling: filling)
        } catch {
            throw FixtureError(
                "The recording of turn \(turn.sequence) is none of the feature \"\(F.name)\": \(error)",
                sequence: turn.sequence)
        }
    }

    private func check<F: Feature>(
        _ recording: TurnRecording<F>, _ turn: Turn, _ feature: F, from head: F.State?, _ initialState: F.State
    ) throws(FixtureError) {
        guard let head else { return }
        let state = reduced(head, recording, feature)
        if state == recording.state { return }
        let isBootstrap = recording.intent == IntentID.bootstrap.text
        if isBootstrap, reduced(initialState, recording, feature) == recording.state { return }
        let messages = recording.messages.map { "  \(describe($0))" }.joined(separator: "\n")
        throw FixtureError(
            """
            The state after turn \(turn.sequence) is not the recorded one (- recorded, + replayed):
            \(difference(expected: describe(recording.state), actual: describe(state)))
            \(recording.messages.isEmpty ? "The turn had no messages." : "Its messages:\n\(messages)")
            """, sequence: turn.sequence)
    }

    private func reduced<F: Feature>(_ state: F.State, _ recording: TurnRecording<F>, _ feature: F) -> F.State {
        var state = state
        for message in recording.messages { feature.reduce(&state, message) }
        return state
    }
}
