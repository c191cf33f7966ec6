import MVI
import MVITesting
import SessionJournal
import Testing
import WireJSON

@testable import Sessions

/// Keeps secrets: one as it is, and the length of one, which no pseudonym has.
private struct Safe: Feature {
    struct State: Codable, Equatable, Sendable {
        var iban: Secret<String>?
        var length = 0
    }
    enum Intent: Codable, Sendable { case keep(Secret<String>), measure(Secret<String>) }
    enum Message: Codable, Sendable { case kept(Secret<String>), measured(Secret<String>) }
    enum Label: Codable, Equatable, Sendable { case seen(Secret<String>) }
    static let examples: [Intent] = [.keep(Secret("x")), .measure(Secret("x"))]
    static let labelExamples: [Label] = [.seen(Secret("x"))]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .keep(let secret):
            turn.dispatch(.kept(secret))
            turn.publish(.seen(secret))
        case .measure(let secret): turn.dispatch(.measured(secret))
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .kept(let secret): state.iban = secret
        case .measured(let secret): state.length = secret.value?.utf8.count ?? 0
        }
    }
}

@Suite("A secret")
struct SecretTests {
    private static let canary = "DE00-canary-4711"
    private let journal = MemoryJournal()
    private let features: FeatureRegistry
    private let safe = FeatureID(name: "safe", key: nil)

    init() throws { features = try FeatureRegistry([FeatureDefinition(Safe())]) }

    /// A session that was recorded from its first turn on.
    private func session() throws -> (Session, SessionTable) {
        var limits = SessionLimits.patient
        limits.recordings = RecordingLimit(turns: 20)
        let table = SessionTable(
            environment: SessionEnvironment(
                features: features, limits: limits, journal: journal, time: ManualTime().source, clock: ManualClock()))
        return (try table.made(.bearer).0, table)
    }

    private func send(_ intents: [Safe.Intent], to session: Session) throws {
        for intent in intents {
            let answer = Box<IntentResult>()
            session.send(IntentRequest(body: try WireJSON.encode(intent)), to: safe) { answer.set($0) }
            _ = try #require(answer.value).get()
        }
    }

    @Test func `it is kept and shown as itself, and recorded as a pseudonym that is the same for the same value`()
        async throws
    {
        let (session, table) = try session()
        try send([.keep(Secret(Self.canary)), .keep(Secret("other")), .keep(Secret(Self.canary))], to: session)
        let shown = String(decoding: try session.stateNow(of: safe).view, as: UTF8.self)
        #expect(shown == #"{"iban":"\#(Self.canary)","length":0}"#)
        let export = try #require(try await table.export(session.id))
        #expect(String(decoding: export.stores[0].state, as: UTF8.self) == shown)
        let recordings = export.turns.map { String(decoding: $0.recording, as: UTF8.self) }
        #expect(recordings.count >= 3 && recordings.allSatisfy { !$0.contains(Self.canary) && !$0.contains("other") })
        let states = recordings.suffix(3).compactMap { $0.range(of: #""iban":{"secret":""#).map { _ in 1 } }
        #expect(states.count == 3)
        let texts = try export.turns.suffix(3).map {
            try WireJSON.decode(Kept.self, from: $0.recording).state.iban.secret
        }
        #expect(texts[0] == texts[2] && texts[0] != texts[1])
    }

    /// The parts of an export that a replay reads, in its format.
    private func document(_ export: SessionExport) -> [UInt8] {
        func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
        let stores = export.stores.map {
            #"{"feature":"\#($0.summary.feature.text)","schemaVersion":1,"version":1,"state":\#(text($0.state))}"#
        }
        let turns = export.turns.map {
            #"{"sequence":\#($0.number),"feature":"\#($0.feature.text)","recording":\#(text($0.recording))}"#
        }
        let subject = export.session.record.subject.map {
            #","session":{"id":"s","subject":{"issuer":"","id":"\#($0.id)"}}"#
        }
        return Array(
            #"{"format":"mvi-session/1"\#(subject ?? ""),"stores":[\#(stores.joined(separator: ","))],"turns":[\#(turns.joined(separator: ","))]}"#
                .utf8)
    }

    private struct Kept: Decodable {
        struct State: Decodable { let iban: Pseudonym }
        struct Pseudonym: Decodable { let secret: String }
        let state: State
    }

    @Test func `a replay compares pseudonyms, and skips a turn that depends on the value`() async throws {
        let (session, table) = try session()
        try send([.keep(Secret(Self.canary)), .measure(Secret(Self.canary)), .keep(Secret("x"))], to: session)
        let export = try #require(try await table.export(session.id))
        let recorded = try RecordedSession(document(export))
        let result = try #require(features.definition(for: safe)).replayer.run(recorded, safe)
        guard case .same(let turns) = result.outcome else {
            Issue.record("\(result.outcome)")
            return
        }
        #expect(
            turns == export.turns.count - 1 && result.notComparable == [export.turns[export.turns.count - 2].number])
    }

    @Test func `a redacted export has no value and no subject, and can be replayed`() async throws {
        let (session, table) = try session()
        try send([.keep(Secret(Self.canary))], to: session)
        var export = try #require(try await table.export(session.id))
        export.session.record.subject = Subject(issuer: "", id: "ann-canary")
        // As a server wrote it that knew no secrets.
        export.turns = export.turns.map { turn in
            var turn = turn
            let text = String(decoding: turn.recording, as: UTF8.self)
            guard let start = text.range(of: #"{"secret":""#)?.lowerBound, let end = text[start...].firstIndex(of: "}")
            else { return turn }
            let value = text.replacing(text[start...end], with: #""\#(Self.canary)""#)
            turn.recording = Array(value.utf8)
            return turn
        }
        #expect(String(decoding: document(export), as: UTF8.self).contains(Self.canary))
        let document = document(export.redacted(by: features).export)
        #expect(!String(decoding: document, as: UTF8.self).contains("canary"))
        let recorded = try RecordedSession(document)
        #expect(recorded.turns.count == export.turns.count && recorded.stores.count == 1)
        guard case .same = try #require(features.definition(for: safe)).replayer.run(recorded, safe).outcome else {
            Issue.record("The redacted export differs.")
            return
        }
    }

    @Test func `a redacted export has numbers for ids and keys, and pseudonyms of its own`() async throws {
        let features = try FeatureRegistry([
            FeatureDefinition(Safe()), FeatureDefinition(keyed: { key, _ in Keyed(key: key) }),
        ])
        var limits = SessionLimits.patient
        limits.recordings = RecordingLimit(turns: 20)
        let table = SessionTable(
            environment: SessionEnvironment(
                features: features, limits: limits, journal: journal, time: ManualTime().source, clock: ManualClock()))
        let session = try table.made(.bearer).0
        let anna = try #require(FeatureID("keyed:anna-meier"))
        for (body, feature, key) in [
            (try WireJSON.encode(Safe.Intent.keep(Secret(Self.canary))), safe, "pay-anna"),
            (Array(#"{"type":"rename","to":"x"}"#.utf8), anna, "pay-bob"),
        ] {
            let answer = Box<IntentResult>()
            session.send(IntentRequest(body: body, name: .key(key)), to: feature) { answer.set($0) }
            _ = try #require(answer.value).get()
        }
        var export = try #require(try await table.export(session.id))
        // What a turn may have recorded of other stores and of errors.
        let facts = #""reads":[{"feature":"keyed:anna-meier","number":1}],"sends":["keyed:anna-meier"]"#
        for index in export.turns.indices {
            export.turns[index].recording.removeLast()
            export.turns[index].recording += Array(#",\#(facts),"failure":"f-anna","refusal":"r-anna"}"#.utf8)
        }
        export.session.record.space = SpaceName("keyed:anna-meier")
        let plain = String(decoding: document(export), as: UTF8.self)
        #expect(plain.contains("pay-anna") && plain.contains("anna-meier"))
        let (redacted, unreadable) = export.redacted(by: features)
        let text = String(decoding: document(redacted), as: UTF8.self)
        for word in ["keyed:anna", "f-anna", "r-anna", "pay-", session.id] {
            #expect(!text.contains(word), "\(word): \(text)")
        }
        #expect(unreadable == 0 && text.contains(#""keyed:1""#) && redacted.session.record.id == "1")
        #expect(redacted.session.record.space == SpaceName("keyed:1"))
        // The same secret in the export of another session.
        let other = export.redacted(by: features, number: 2).export
        func names(_ export: SessionExport) -> Set<String> {
            Set(export.turns.compactMap { try? WireJSON.decode(Kept.self, from: $0.recording).state.iban.secret })
        }
        #expect(names(redacted).isDisjoint(with: names(other)) && names(redacted).count == names(export).count)
        #expect(names(redacted).isDisjoint(with: names(export)))
    }

    @Test func `texts of it show nothing, and its JSON is the value's`() throws {
        let secret = Secret(Self.canary)
        var text = ""
        dump(secret, to: &text)
        text += "\(secret) \(String(reflecting: secret)) \([secret]) \(Safe.State(iban: secret))"
        #expect(!text.contains("canary"))
        #expect(try WireJSON.encode(secret) == WireJSON.encode(Self.canary))
        #expect(try WireJSON.decode(Secret<String>.self, from: WireJSON.encode(Self.canary)) == secret)
        // Only a replay reads a pseudonym.
        #expect(throws: WireDecodingError.self) {
            try WireJSON.decode(Secret<String>.self, from: Array(#"{"secret":"‹x›"}"#.utf8))
        }
        let hidden = try WireJSON.encode(Safe.Intent.keep(secret), userInfo: SecretCoding.hiding)
        #expect(!String(decoding: hidden, as: UTF8.self).contains("canary"))
    }
}
