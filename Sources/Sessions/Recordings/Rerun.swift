import Locking
import MVI
import WireJSON

/// Runs the recorded turns of intents and actions of a store again, with the recorded time, UUIDs, sender and views of other
/// stores, and compares actions, messages, labels, sends and launched work with the recorded ones. The work itself does not
/// run, and neither do interceptors and checks: their results are in the recording.
package struct Rerun<F: Feature> {
    private let feature: F
    private let instance: String
    private let session: RecordedSession
    private let host: RerunHost

    /// - Parameter host: The other stores that turns read.
    package init(_ feature: F, instance: String, of session: RecordedSession, host: RerunHost) {
        (self.feature, self.instance, self.session, self.host) = (feature, instance, session, host)
    }

    /// The number of compared turns, and of those that could not be run again: the state before, or a store that they
    /// read, is not recorded, or they differ and they or the state before have pseudonyms in the place of secrets.
    package func run() throws(RerunDifference) -> (compared: Int, skipped: Int) {
        var (compared, skipped) = (0, 0)
        var head: F.State?
        var headHasSecrets = false
        var expected: UInt64 = 1
        for turn in session.turns {
            if turn.sequence != expected { head = nil }
            expected = turn.sequence + 1
            guard turn.feature == instance else { continue }
            guard let recording = session.recording(of: turn, F.self, initial: feature.initialState),
                recording.facts.schemaVersion == F.schemaVersion
            else {
                head = nil
                skipped += 1
                continue
            }
            let hasOwn = turn.recording.map { SecretCoding.hasPseudonyms($0.bytes) } ?? false
            let hasSecrets =
                headHasSecrets || hasOwn || recording.facts.subject.map { SecretCoding.isPseudonym($0.id) } ?? false
            defer { (head, headHasSecrets) = (recording.state, hasOwn) }
            let facts = recording.facts
            guard facts.kind == .intent || facts.kind == .checked || facts.kind == .action else { continue }
            // Interceptors and checks do not run again.
            if facts.kind == .checked, facts.refusal != nil { continue }
            guard let before = head, host.read(facts.reads, of: session) else {
                skipped += 1
                continue
            }
            do throws(RerunDifference) {
                try compare(recording, try rerun(recording, from: before, turn.sequence), turn.sequence)
                compared += 1
            } catch {
                guard hasSecrets else { throw error }
                skipped += 1
            }
        }
        return (compared, skipped)
    }

    private func rerun(
        _ recording: TurnRecording<F>, from state: F.State, _ turn: UInt64
    ) throws(RerunDifference) -> TurnRecording<F> {
        let made = Lock<TurnRecording<F>?>(nil)
        var environment = StoreEnvironment(instance: instance, session: session.info)
        environment.isRecording = true
        let runner = TurnRunner(feature, state: state, environment: environment, middleware: []) { turn, _, _ in
            let recording = TurnRecording(turn)
            made.withLock { $0 = recording }
            return TurnResult(turn)
        }
        let facts = recording.facts
        let context = TurnContext(
            IntentID(recording.intent), host,
            principal: facts.subject.map { Principal(issuer: $0.issuer, subject: $0.id) },
            inputs: TurnInputs(
                now: facts.now, uuids: facts.uuids,
                viewers: facts.viewers.map {
                    KnownViewers(Viewers(json: Array($0.utf8), of: F.self), json: $0)
                }), sender: facts.sender,
            settings: ClientSettings(locale: facts.locale, timeZone: facts.timeZone))
        let run: RunTurn?
        switch (facts.kind, recording.cause, recording.actions.first) {
        case (.intent?, let intent?, _): run = TurnRunner<F>.execute(intent, isJudged: true)
        case (_, _, let action?): run = TurnRunner<F>.perform(action)
        default: run = nil
        }
        let outcome = run?(runner, context).outcome
        let recorded = facts.refusal ?? "ran"
        switch outcome {
        case .ran?, .refused?: if let again = made.withLock({ $0 }) { return again }
        default: break
        }
        let what = outcome.map { "\($0.error.map { "\($0)" } ?? "\($0)")" } ?? "nothing"
        throw RerunDifference(turn: turn, what: "outcome", recorded: json(recorded), rerun: json(what))
    }

    private func compare(
        _ recorded: TurnRecording<F>, _ again: TurnRecording<F>, _ turn: UInt64
    ) throws(RerunDifference) {
        let (old, new) = (recorded.facts, again.facts)
        let refusal = old.refusal == Redactor.text ? new.refusal.map { _ in Redactor.text } : new.refusal
        let pairs: [(String, any Encodable, any Encodable)] = [
            ("outcome", old.refusal ?? "ran", refusal ?? "ran"),
            ("actions", RecordedValues(recorded.actions), RecordedValues(again.actions)),
            ("messages", RecordedValues(recorded.messages), RecordedValues(again.messages)),
            ("labels", recorded.labels, again.labels), ("sends", old.sends, new.sends),
            ("told messages", old.tells, new.tells),
            ("directed", old.directed, new.directed.map { $0.comparable(with: old.directed) }),
            ("launched", old.launched, new.launched),
        ]
        for (what, recorded, again) in pairs {
            let (before, now) = (json(recorded), json(again))
            if before != now { throw RerunDifference(turn: turn, what: what, recorded: before, rerun: now) }
        }
    }

    private func json(_ value: any Encodable) -> [UInt8] { (try? WireJSON.encode(value)) ?? [] }
}

extension TurnFacts.Directed {
    /// Without its name if a recording has no names.
    fileprivate func comparable(with recorded: [Self]) -> Self {
        recorded.contains { $0.name != nil } ? self : Self(label: label, to: to, name: nil)
    }
}

/// What the handlers did otherwise, as JSON. Outside of `Rerun`: the optimizer of Swift 6.3 crashes at a typed error that is
/// nested in a generic type.
package struct RerunDifference: Error {
    package let turn: UInt64
    /// The member of the recording that differs.
    package let what: String
    package let recorded: [UInt8]
    package let rerun: [UInt8]
}

/// Values whose type may be `Encodable`, as messages of features whose recordings can be read are.
private struct RecordedValues<Value>: Encodable {
    private let values: [Value]

    init(_ values: [Value]) { self.values = values }

    func encode(to encoder: any Encoder) throws {
        var list = encoder.unkeyedContainer()
        for case let value as any Encodable in values { try list.encode(value) }
    }
}

extension RecordedSession {
    /// The session as its features saw it.
    var info: SessionInfo { SessionInfo(id: id ?? "", subject: subject) }

    /// A turn's recording; nil if it does not belong to the feature.
    func recording<F: Feature>(of turn: Turn, _ feature: F.Type, initial: F.State) -> TurnRecording<F>? {
        guard let bytes = turn.recording?.bytes, let type = TurnRecording<F>.self as? any Decodable.Type,
            let state = try? WireJSON.encodeStored(initial).bytes
        else { return nil }
        func decode<T: Decodable>(_ type: T.Type) -> Any? {
            try? WireJSON.decode(
                type, from: bytes, filling: Array("{\"state\":".utf8) + state + Array("}".utf8),
                userInfo: SecretCoding.reading)
        }
        return decode(type) as? TurnRecording<F>
    }
}
