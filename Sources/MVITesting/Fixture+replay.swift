import MVI
import WireJSON

extension Fixture {
    /// Reduces the recorded messages of a store again, turn by turn, and compares each state with the recorded one.
    ///
    /// If the recording contains all turns of the session up to the store's first one, the replay begins with the
    /// feature's initial state. Otherwise, and after missing turns, it begins with the recorded state. A bootstrap may
    /// restart a store with the initial state.
    ///
    /// If the store was exported under an older schema version, its recorded states are migrated. Each one is the start
    /// of the next turn, and the first one is not compared.
    ///
    /// - Returns: the state after each turn, oldest first, migrated if necessary.
    /// - Throws: ``FixtureError`` with the turn's sequence number if a state differs or this feature cannot read a
    ///   recording; without a number if the store has no recorded turns or a newer version of the feature wrote them.
    @discardableResult
    public func replay<F: Feature>(
        _ feature: F, instance: String = F.name
    ) throws(FixtureError) -> [F.State] where F.Message: Decodable, F.Action: Decodable {
        let version = stores.first { $0.feature == instance }?.schemaVersion ?? F.schemaVersion
        if version > F.schemaVersion { throw .newer(F.self, version, "The store of \"\(instance)\"") }
        let initialState = feature.initialState
        let filling = try Array("{\"state\":".utf8) + encoded(initialState) + Array("}".utf8)
        var states: [F.State] = []
        var head: F.State? = version == F.schemaVersion ? initialState : nil
        var expected: UInt64 = 1
        for turn in turns {
            // The missing turn may belong to this store.
            if turn.sequence != expected { head = nil }
            expected = turn.sequence + 1
            guard turn.feature == instance else { continue }
            let recording =
                version == F.schemaVersion
                ? try recording(of: turn, F.self, filling: filling) : try oldRecording(of: turn, feature, version)
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
    ) throws(FixtureError) -> Replayed<F> where F.Message: Decodable, F.Action: Decodable {
        do throws(WireDecodingError) {
            let recording = try WireJSON.decode(
                TurnRecording<F>.self, from: turn.recording.bytes, filling: filling)
            return Replayed(intent: recording.intent, messages: recording.messages, state: recording.state)
        } catch {
            throw FixtureError(
                "The recording of turn \(turn.sequence) does not belong to the feature \"\(F.name)\": \(error)",
                sequence: turn.sequence)
        }
    }

    /// Reads a recording of an older schema version for a replay.
    private func oldRecording<F: Feature>(
        of turn: Turn, _ feature: F, _ version: Int
    ) throws(FixtureError) -> Replayed<F> where F.Message: Decodable {
        let what = "The recording of turn \(turn.sequence)"
        let parts: RecordedParts
        do throws(WireDecodingError) {
            parts = try WireJSON.decode(RecordedParts.self, from: turn.recording.bytes)
        } catch {
            throw FixtureError("\(what) is not a recording of a turn: \(error)", sequence: turn.sequence)
        }
        let state = try read(
            parts.state, version: version, of: feature, "\(what): its state", sequence: turn.sequence)
        do throws(WireDecodingError) {
            let messages = try WireJSON.decode([F.Message].self, from: parts.messages.bytes)
            return Replayed(intent: parts.intent, messages: messages, state: state)
        } catch {
            throw FixtureError(
                """
                \(what) has messages of schema version \(version) that the feature "\(F.name)" cannot decode as it is \
                now (version \(F.schemaVersion)): \(error)
                Let `Message` decode the older form as well, or record a session of version \(F.schemaVersion) and export \
                it. `state(of:)` reads the store's last state without its messages.
                """, sequence: turn.sequence)
        }
    }

    /// The members of a recording that a replay needs, not decoded yet.
    private struct RecordedParts: Decodable {
        let intent: String
        let messages: JSONText
        let state: JSONText
    }

    /// The recorded parts of a turn that are reduced again.
    private struct Replayed<F: Feature> {
        let intent: String
        let messages: [F.Message]
        let state: F.State
    }

    private func check<F: Feature>(
        _ recording: Replayed<F>, _ turn: Turn, _ feature: F, from head: F.State?, _ initialState: F.State
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
            \(difference(expected: recording.state, actual: state))
            \(recording.messages.isEmpty ? "The turn had no messages." : "Its messages:\n\(messages)")
            """, sequence: turn.sequence)
    }

    private func reduced<F: Feature>(_ state: F.State, _ recording: Replayed<F>, _ feature: F) -> F.State {
        var state = state
        for message in recording.messages { feature.reduce(&state, message) }
        return state
    }
}
