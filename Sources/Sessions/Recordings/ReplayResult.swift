import JSONDelta
import MVI
import WireJSON

/// The result of a replay of one store's recorded turns, without its feature's types.
package struct ReplayResult: Sendable {
    /// The first difference from the recording.
    package struct Difference: Sendable {
        package enum What: String, Sendable { case state, view }

        /// The turn's number.
        package let turn: UInt64
        package let what: What
        /// JSON, and the JSON Patch (RFC 6902) from the recorded to the replayed one; nil if there is none.
        package let recorded: [UInt8]
        package let replayed: [UInt8]
        package let patch: [UInt8]?
    }

    package enum Outcome: Sendable {
        /// So many turns agree; the others are not comparable.
        case same(turns: Int)
        case differs(Difference)
        /// The turn, if it is one, that cannot be replayed, and a sentence.
        case unreadable(turn: UInt64?, String)
    }

    package let outcome: Outcome
    /// The turns that differ but have pseudonyms in the place of secrets.
    package private(set) var notComparable: [UInt64] = []

    /// - Parameter make: Returns the feature of the instance; nil if there is none.
    fileprivate init<F: Feature>(of session: RecordedSession, _ id: FeatureID, _ make: () throws -> F?) {
        let feature: F
        do {
            guard let made = try make() else {
                outcome = .unreadable(turn: nil, "The server has no feature \"\(id.text)\".")
                return
            }
            feature = made
        } catch {
            outcome = .unreadable(turn: nil, "The feature \"\(id.text)\" cannot be made: \(error)")
            return
        }
        var skipped: [UInt64] = []
        defer { notComparable = skipped }
        do throws(Replay<F>.Fault) {
            let states = try Replay(feature, instance: id.text, of: session).run { skipped.append($0) }
            outcome = .same(turns: states.count - skipped.count)
        } catch {
            outcome =
                switch error {
                case .unreadable(let turn, let sentence): .unreadable(turn: turn, sentence)
                case .state(let turn, let recorded, let replayed, _):
                    Self.differs(turn, .state, recorded, replayed)
                case .view(let turn, let recorded, let replayed): Self.differs(turn, .view, recorded, replayed)
                }
        }
    }

    private static func differs<Value: Encodable>(
        _ turn: UInt64, _ what: Difference.What, _ recorded: Value, _ replayed: Value
    ) -> Outcome {
        do throws(WireEncodingError) {
            let (old, new) = (try WireJSON.encode(recorded), try WireJSON.encode(replayed))
            return .differs(
                Difference(
                    turn: turn, what: what, recorded: old, replayed: new, patch: JSONPatch.diff(from: old, to: new)))
        } catch {
            return .unreadable(turn: turn, "The \(what) after turn \(turn) cannot be written as JSON: \(error)")
        }
    }
}

/// Replays recorded turns of a feature's instances, without the feature's types.
@usableFromInline
package final class Replayer: Sendable {
    /// Replays one instance of a session.
    package let run: @Sendable (RecordedSession, FeatureID) -> ReplayResult
    package let redactor: Redactor

    @usableFromInline
    init<F: Feature>(_ feature: F) {
        run = { session, id in ReplayResult(of: session, id) { id.key == nil ? feature : nil } }
        redactor = Redactor { $0.key == nil ? feature : nil }
    }

    /// - Parameter make: the maker of a keyed feature. It is called for each recorded key.
    @usableFromInline
    init<F: Feature>(keyed make: @escaping @Sendable (_ key: String, _ caller: InstanceContext) throws -> F?) {
        run = { session, id in
            let info = SessionInfo(id: session.id ?? "", subject: session.subject)
            return ReplayResult(of: session, id) {
                try id.key.flatMap { try make($0, InstanceContext(session: info, principal: nil)) }
            }
        }
        redactor = Redactor { id in
            try id.key.flatMap { try make($0, InstanceContext(session: .none, principal: nil)) }
        }
    }
}
