import MVI
import WireJSON

/// Reduces the recorded messages of a store again, turn by turn, and compares each state and view state with the recorded
/// one.
///
/// If the recording contains all turns of the session up to the store's first one, the replay begins with the feature's
/// initial state. Otherwise, and after missing turns, it begins with the recorded state. A bootstrap may restart a store with
/// the initial state.
///
/// States that were recorded under an older schema version are migrated. Each one is the start of the next turn; the first
/// one of a version is not compared, and neither are view states of an older version. A turn that differs and has
/// pseudonyms in the place of secrets, or whose state before has, is not comparable.
package struct Replay<F: Feature> {
    /// The first fault of a replay.
    package enum Fault: Error {
        /// The state after a turn differs.
        case state(turn: UInt64, recorded: F.State, replayed: F.State, messages: [F.Message])
        /// The view state of the same state differs.
        case view(turn: UInt64, recorded: F.ViewState, replayed: F.ViewState)
        /// A sentence about a recording that cannot be replayed.
        case unreadable(turn: UInt64?, String)
    }

    /// The parts of a recorded turn that are compared.
    private struct Recorded {
        let intent: String
        let messages: [F.Message]
        let state: F.State
        let view: F.ViewState?
    }

    private let feature: F
    private let instance: String
    private let session: RecordedSession

    package init(_ feature: F, instance: String, of session: RecordedSession) {
        (self.feature, self.instance, self.session) = (feature, instance, session)
    }

    /// Returns the state after each turn, oldest first, migrated if necessary.
    ///
    /// - Parameter notComparable: called for each turn that differs but has pseudonyms in the place of secrets.
    package func run(notComparable: (_ turn: UInt64) -> Void = { _ in }) throws(Fault) -> [F.State] {
        let present = session.stores.first { $0.feature == instance }?.schemaVersion ?? F.schemaVersion
        if present > F.schemaVersion {
            throw .unreadable(turn: nil, Self.newer(present, "The store of \"\(instance)\""))
        }
        // Recordings without a version have the store's.
        var version = present
        let initialState = feature.initialState
        let filling = try Array("{\"state\":".utf8) + encoded(initialState) + Array("}".utf8)
        var states: [F.State] = []
        var head: F.State? = version == F.schemaVersion ? initialState : nil
        var headHasSecrets = false
        var expected: UInt64 = 1
        for turn in session.turns {
            // The missing turn may belong to this store.
            if turn.sequence != expected { head = nil }
            expected = turn.sequence + 1
            guard turn.feature == instance else { continue }
            let bytes = try bytes(of: turn)
            if let own = try? WireJSON.decode(Versioned.self, from: bytes).schemaVersion, own != version {
                // Another build wrote it: its start was migrated.
                (version, head) = (own, nil)
            }
            let hasSecrets = SecretCoding.hasPseudonyms(bytes)
            let recorded =
                version == F.schemaVersion ? try read(turn, bytes, filling) : try old(turn, bytes, version)
            do throws(Fault) { try check(recorded, turn.sequence, from: head, initialState) } catch {
                guard hasSecrets || headHasSecrets else { throw error }
                notComparable(turn.sequence)
            }
            headHasSecrets = hasSecrets
            states.append(recorded.state)
            head = recorded.state
        }
        guard !states.isEmpty else {
            let others = Set(session.turns.map { "\"\($0.feature)\"" }).sorted().joined(separator: ", ")
            throw .unreadable(
                turn: nil,
                "The fixture has no recorded turn of \"\(instance)\". It has turns of: "
                    + "\(others.isEmpty ? "nothing; was recording on?" : others + ".")")
        }
        return states
    }

    // MARK: Reading

    private func bytes(of turn: RecordedSession.Turn) throws(Fault) -> [UInt8] {
        guard let recording = turn.recording else {
            throw .unreadable(turn: turn.sequence, "The recording of turn \(turn.sequence) is not JSON.")
        }
        if let fault = try? WireJSON.decode(Unrecorded.self, from: recording.bytes).fault {
            throw .unreadable(turn: turn.sequence, "Turn \(turn.sequence) was not recorded: \(fault).")
        }
        return recording.bytes
    }

    private func read(
        _ turn: RecordedSession.Turn, _ bytes: [UInt8], _ filling: [UInt8]
    ) throws(Fault) -> Recorded {
        let what = "The recording of turn \(turn.sequence)"
        guard let type = TurnRecording<F>.self as? any Decodable.Type else {
            throw .unreadable(
                turn: turn.sequence, "The messages or actions of the feature \"\(F.name)\" are not Codable.")
        }
        let decoded: Any
        do throws(WireDecodingError) { decoded = try decode(type, bytes, filling: filling) } catch {
            throw .unreadable(turn: turn.sequence, "\(what) does not belong to the feature \"\(F.name)\": \(error)")
        }
        guard let recording = decoded as? TurnRecording<F> else {
            throw .unreadable(turn: turn.sequence, "\(what) does not belong to the feature \"\(F.name)\".")
        }
        return Recorded(
            intent: recording.intent, messages: recording.messages, state: recording.state, view: recording.view)
    }

    /// Reads a recording of an older schema version.
    private func old(_ turn: RecordedSession.Turn, _ bytes: [UInt8], _ version: Int) throws(Fault) -> Recorded {
        let what = "The recording of turn \(turn.sequence)"
        let parts: RecordedParts
        do throws(WireDecodingError) { parts = try WireJSON.decode(RecordedParts.self, from: bytes) } catch {
            throw .unreadable(turn: turn.sequence, "\(what) is not a recording of a turn: \(error)")
        }
        let state: F.State
        do throws(UnreadableState) {
            state = try Self.state(parts.state, version, feature, "\(what): its state")
        } catch {
            throw .unreadable(turn: turn.sequence, error.description)
        }
        var messages: [F.Message]?
        var fault = "they are not Codable"
        if let type = [F.Message].self as? any Decodable.Type {
            do throws(WireDecodingError) { messages = try decode(type, parts.messages.bytes) as? [F.Message] } catch {
                fault = "\(error)"
            }
        }
        if let messages { return Recorded(intent: parts.intent, messages: messages, state: state, view: nil) }
        throw .unreadable(
            turn: turn.sequence,
            """
            \(what) has messages of schema version \(version) that the feature "\(F.name)" cannot decode as it is now \
            (version \(F.schemaVersion)): \(fault)
            Let `Message` decode the older form as well, or record a session of version \(F.schemaVersion) and export \
            it. `state(of:)` reads the store's last state without its messages.
            """)
    }

    private func decode<T: Decodable>(
        _ type: T.Type, _ bytes: [UInt8], filling: [UInt8]? = nil
    ) throws(WireDecodingError) -> Any {
        try WireJSON.decode(type, from: bytes, filling: filling, userInfo: SecretCoding.reading)
    }

    private func encoded(_ state: F.State) throws(Fault) -> [UInt8] {
        do throws(WireEncodingError) { return try WireJSON.encodeStored(state).bytes } catch {
            throw .unreadable(turn: nil, "The feature's initial state cannot be written as JSON: \(error)")
        }
    }

    // MARK: Comparing

    private func check(
        _ recorded: Recorded, _ turn: UInt64, from head: F.State?, _ initialState: F.State
    ) throws(Fault) {
        if let head {
            let state = reduced(head, recorded)
            let isRestart = recorded.intent == IntentID.bootstrap.text
            if state != recorded.state, !isRestart || reduced(initialState, recorded) != recorded.state {
                throw .state(turn: turn, recorded: recorded.state, replayed: state, messages: recorded.messages)
            }
        }
        if let view = recorded.view {
            let replayed = feature.view(recorded.state)
            if replayed != view { throw .view(turn: turn, recorded: view, replayed: replayed) }
        }
    }

    private func reduced(_ state: F.State, _ recorded: Recorded) -> F.State {
        var state = state
        for message in recorded.messages { feature.reduce(&state, message) }
        return state
    }
}

extension Replay {
    /// Reads a state by the rules of a server.
    ///
    /// - Parameter what: the beginning of the error's sentence.
    package static func state(
        _ state: JSONText, _ version: Int, _ feature: F, _ what: String
    ) throws(UnreadableState) -> F.State {
        let read = KeptState.read(
            state.bytes, version: version, of: F.self, initial: feature.initialState, userInfo: SecretCoding.reading)
        switch read {
        case .state(let state, _): return state
        case .newer: throw UnreadableState(newer(version, what))
        case .unreadable(let reason) where version == F.schemaVersion:
            throw UnreadableState("\(what) does not belong to the feature \"\(F.name)\": \(reason)")
        case .unreadable(let reason):
            throw UnreadableState(
                "\(what) cannot be read: \(reason). Fix or add the feature's migration from version \(version), or "
                    + "export a session of version \(F.schemaVersion).")
        }
    }

    private static func newer(_ version: Int, _ what: String) -> String {
        "\(what) has the schema version \(version), and the feature \"\(F.name)\" has version \(F.schemaVersion): "
            + "a newer build wrote it. Test it with that build, or export a session of this one."
    }
}

/// A sentence about a recorded state that cannot be read.
package struct UnreadableState: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// A turn that could not be recorded.
private struct Unrecorded: Decodable { let fault: String }

private struct Versioned: Decodable { let schemaVersion: Int? }

/// The members of a recording that a replay needs, not decoded yet.
private struct RecordedParts: Decodable {
    let intent: String
    let messages: JSONText
    let state: JSONText
}
