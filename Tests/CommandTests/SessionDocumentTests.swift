import MVI
import MVITesting
import SessionJournal
import Testing
import WireJSON

@testable import MVIServer

@Suite struct SessionDocumentTests {
    private static let start = Duration.milliseconds(1_790_000_000_123)
    private static let counter = FeatureID(name: "counter", key: nil)

    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    private static func credential(_ number: Int, revokedUntil: Duration? = nil) -> StoredCredential {
        StoredCredential(
            token: TokenHash(Array(repeating: 0xab, count: 32)), kind: .bearer, number: number,
            principal: bytes("secret"), made: start, revokedUntil: revokedUntil)
    }

    /// A session with content in every part.
    private static func export() -> SessionExport {
        var lost = LostLabels()
        lost.hasAny = true
        lost.dropped[counter] = LostLabels.Dropped(number: 2, isUnheard: true)
        func store(_ feature: FeatureID, _ state: String, intent: String?) -> StoredStore {
            StoredStore(
                summary: StoreSummary(
                    feature: feature, number: 8, version: 7, made: 1, replaced: 1),
                schemaVersion: 2, state: bytes(state), view: bytes(#"{"text":"5"}"#), viewIntent: intent)
        }
        let stores = [
            store(FeatureID(name: "order-detail", key: "9"), "null", intent: nil),
            store(counter, #"{"count":5,"name":"ä"}"#, intent: "intent-1"),
        ]
        let session = StoredSession(
            key: SessionKey(12),
            record: SessionRecord(
                id: "s-1", tokenHash: TokenHash(Array(repeating: 0xab, count: 32)), epoch: "k3", credential: .cookie,
                created: start, lastSeen: start + .seconds(1), subject: Subject(issuer: "https://id", id: "ada"),
                isShared: true),
            recentHeads: [SessionHead(number: 41, nonce: 99)], stores: stores.map(\.summary),
            labels: [
                StoredLabel(
                    id: LabelID(number: 40, index: 1), feature: counter, version: 6, intent: nil,
                    json: bytes(#"{"type":"toast","text":"a\nb"}"#), expiry: start + .seconds(60), isWritten: true),
                StoredLabel(
                    id: LabelID(number: 41, index: 0), feature: counter, version: 7, intent: nil,
                    json: bytes(#"{"type":"ping"}"#), expiry: start + .seconds(60),
                    to: .subject(Subject(issuer: "i", id: "ann"))),
            ],
            lostLabels: lost,
            receipts: [
                StoredReceipt(
                    key: .key("\"quoted\"", feature: counter), number: 5, bodyHash: [0x00, 0x1f, 0xff], intent: "i1",
                    outcome: .ran(version: 6), made: start),
                StoredReceipt(
                    key: .sequence(4, epoch: "mine"), number: 6, bodyHash: [], intent: "i2",
                    outcome: .refused(status: 422, body: bytes(#"{"title":"no"}"#)), made: start),
            ],
            credentials: [credential(1, revokedUntil: start), credential(2)],
            reminders: [
                StoredReminder(
                    feature: counter, id: "late", due: start + .seconds(60), number: 41,
                    action: bytes(#"{"type":"ring"}"#))
            ])
        return SessionExport(
            session: session, stores: stores,
            turns: [
                RecordedTurn(number: 41, feature: counter, time: start, recording: bytes(#"{"intent":"i1"}"#))
            ],
            setAside: [
                SetAsideState(
                    feature: counter, schemaVersion: 1, state: bytes("{not json"), reason: "it is cut off", time: start)
            ])
    }

    @Test func `the document has the format of docs/fixtures.md, byte for byte`() {
        let text = String(decoding: SessionDocument.write(Self.export()), as: UTF8.self)
        #expect(
            text == #"""
                {"format":"mvi-session/1","session":{"id":"s-1","epoch":"k3","credential":"cookie","subject":{"issuer":"https://id","id":"ada"},"isShared":true,"created":"2026-09-21T14:13:20.123Z","lastSeen":"2026-09-21T14:13:21.123Z","sequence":41,"hasLostLabels":true,"lostLabels":[{"feature":"counter","sequence":2,"isUnheard":true}]},"stores":[
                {"feature":"counter","schemaVersion":2,"sequence":8,"version":7,"madeSequence":1,"state":{"count":5,"name":"ä"},"view":{"text":"5"},"viewIntent":"intent-1","replacedSequence":1},
                {"feature":"order-detail:9","schemaVersion":2,"sequence":8,"version":7,"madeSequence":1,"state":null,"view":{"text":"5"},"replacedSequence":1}],"labels":[
                {"sequence":40,"index":1,"feature":"counter","version":6,"label":{"type":"toast","text":"a\nb"},"expiry":"2026-09-21T14:14:20.123Z","isWritten":true},
                {"sequence":41,"index":0,"feature":"counter","version":7,"label":{"type":"ping"},"to":"subject 1 iann","expiry":"2026-09-21T14:14:20.123Z","isWritten":false}],"receipts":[
                {"key":"\"quoted\"","feature":"counter","sequence":5,"intent":"i1","bodySHA256":"001fff","version":6,"made":"2026-09-21T14:13:20.123Z"},
                {"number":4,"epoch":"mine","sequence":6,"intent":"i2","bodySHA256":"","status":422,"body":{"title":"no"},"made":"2026-09-21T14:13:20.123Z"}],"credentials":[
                {"kind":"bearer","number":1,"made":"2026-09-21T14:13:20.123Z","revokedUntil":"2026-09-21T14:13:20.123Z"},
                {"kind":"bearer","number":2,"made":"2026-09-21T14:13:20.123Z"}],"reminders":[
                {"feature":"counter","id":"late","due":"2026-09-21T14:14:20.123Z","action":{"type":"ring"}}],"turns":[
                {"sequence":41,"feature":"counter","time":"2026-09-21T14:13:20.123Z","recording":{"intent":"i1"}}],"setAside":[
                {"feature":"counter","schemaVersion":1,"reason":"it is cut off","time":"2026-09-21T14:13:20.123Z","stateHex":"7b6e6f74206a736f6e"}]}

                """#)
    }

    @Test func `the document of a space has its name in the place of a credential`() {
        var export = Self.export()
        (export.session.record.subject, export.session.record.isShared) = (nil, false)
        export.session.record.space = SpaceName("board:9")
        let text = String(decoding: SessionDocument.write(export), as: UTF8.self)
        let beginning =
            #"{"format":"mvi-session/1","session":{"id":"s-1","epoch":"k3","space":"board:9","isShared":false,"#
        #expect(text.hasPrefix(beginning), "\(text.prefix(120))")
    }

    @Test func `it contains no token hashes and no claims of credentials`() {
        let text = String(decoding: SessionDocument.write(Self.export()), as: UTF8.self)
        #expect(!text.contains("abab"))
        #expect(!text.contains("secret"))
        #expect(!text.lowercased().contains("token"))
    }

    @Test func `it is one JSON text, also for an empty session`() throws {
        struct Empty: Decodable, Equatable {
            var format: String
            var stores, labels, receipts, credentials, reminders, turns, setAside: [JSONText]
        }
        _ = try WireJSON.decode(JSONText.self, from: SessionDocument.write(Self.export()))
        var export = Self.export()
        export.session.labels = []
        export.session.receipts = []
        export.session.credentials = []
        export.session.reminders = []
        let nothing = SessionExport(session: export.session, stores: [], turns: [], setAside: [])
        let document = try WireJSON.decode(Empty.self, from: SessionDocument.write(nothing))
        #expect(document.format == Fixture.format)
        #expect(document.stores.isEmpty && document.turns.isEmpty)
        #expect(document.credentials.isEmpty && document.reminders.isEmpty)
    }

    @Test func `a value that is not JSON does not break the document`() throws {
        for text in ["", "{", "[1,]", "nul", "\u{FEFF}{}", "{} {}", "\"\u{1}\""] {
            var export = Self.export()
            export.stores[0].state = Self.bytes(text)
            export.session.labels[0].json = Self.bytes(text)
            export.turns[0].recording = Self.bytes(text)
            export.session.reminders[0].action = Self.bytes(text)
            _ = try WireJSON.decode(JSONText.self, from: SessionDocument.write(export))
        }
    }

    @Test func `times before 1970 and whole seconds are written with milliseconds`() {
        #expect(Timestamp(sinceEpoch: .zero).description == "1970-01-01T00:00:00.000Z")
        #expect(Timestamp(sinceEpoch: .milliseconds(-1)).description == "1969-12-31T23:59:59.999Z")
        #expect(Timestamp(sinceEpoch: .milliseconds(-1_000)).description == "1969-12-31T23:59:59.000Z")
        #expect(Timestamp(sinceEpoch: .milliseconds(1_005)).description == "1970-01-01T00:00:01.005Z")
        #expect(Timestamp(sinceEpoch: .milliseconds(1_999)).wholeSeconds == "1970-01-01T00:00:01Z")
    }
}
