import TestSupport
import Locking
import MVI
import MVITesting
import SessionJournal
import Sessions
import Testing

@Suite("Intents")
struct IntentTests {
    @Test("an intent answers with its id, the version after it and the state")
    func reply() throws {
        let fixture = try Fixture()
        let reply = try fixture.send(#"{"type":"add","amount":5}"#).get()
        #expect(reply.version == 2)
        #expect(reply.state?.version == 2)
        #expect(
            String(decoding: try #require(reply.state).view, as: UTF8.self)
                == #"{"count":5,"note":"","isWatched":false}"#)
        #expect(reply.isSettled)
        #expect(!reply.isReplayed)
        #expect(try fixture.session.stateNow(of: fixture.tally) == reply.state)
    }

    @Test(
        "an invalid intent is refused, and the next one is served",
        arguments: [
            ("", "malformed"), ("{", "malformed"), ("nonsense", "malformed"), ("\u{0}", "malformed"),
            (#"{"type":"add","type":"add","amount":1}"#, "malformed"),
            ("[]", #"mismatch [""]"#), ("1", #"mismatch [""]"#), ("{}", #"mismatch ["/type"]"#),
            (#"{"type":7}"#, #"mismatch ["/type"]"#), (#"{"type":"fly"}"#, #"mismatch ["/type"]"#),
            (#"{"type":"add"}"#, #"mismatch ["/amount"]"#),
            (#"{"type":"add","amount":"5"}"#, #"mismatch ["/amount"]"#),
            (#"{"type":"add","amount":1.5}"#, #"mismatch ["/amount"]"#),
            (#"{"type":"add","amount":99999999999999999999}"#, #"mismatch ["/amount"]"#),
            (#"{"type":"add","amount":2000}"#, "refused"), (#"{"type":"fail"}"#, "failed"),
            (#"{"type":"ratio"}"#, "notEncodable"),
        ])
    func refusals(body: String, refusal: String) throws {
        let fixture = try Fixture()
        #expect(try fixture.send(body).refusal == refusal)
        #expect(try fixture.send(#"{"type":"add","amount":1}"#).get().version == 2)
        #expect(try fixture.stream("tally").read().said.isEmpty)
    }

    @Test("an intent is decoded once: for a store in memory, a new one, and one that must be loaded")
    func decodedOnce() throws {
        let features = try FeatureRegistry([FeatureDefinition(Decoded())])
        let table = SessionTable(environment: SessionEnvironment(features: features, limits: .patient))
        let session = try table.made(.bearer).session
        let decoded = try #require(FeatureID("decoded"))
        for isPassive in [false, false, true] {
            if isPassive { #expect(session.passivate(decoded) == []) }
            let before = Decoded.Intent.count.withLock { $0 }
            #expect(try session.told(#"{"type":"go"}"#, to: decoded) == "ran")
            #expect(Decoded.Intent.count.withLock { $0 } == before + 1)
        }
    }

    /// Counts the decodings of an intent.
    private struct Decoded: Feature {
        enum Intent: Codable, Sendable {
            case go

            static let count = Lock(0)
            private enum Keys: CodingKey { case type }

            init(from decoder: any Decoder) throws {
                Self.count.withLock { $0 += 1 }
                _ = try decoder.container(keyedBy: Keys.self).decode(String.self, forKey: .type)
                self = .go
            }

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Keys.self)
                try container.encode("go", forKey: .type)
            }
        }
        static let name = "decoded"
        static let examples: [Intent] = [.go]
        let initialState = 0
        func reduce(_ state: inout Int, _ intent: Intent) { state += 1 }
    }

    @Test("unknown members are ignored, null counts as absent")
    func tolerance() throws {
        let fixture = try Fixture()
        #expect(try fixture.send(#"{"x":[1,{}],"type":"add","amount":1,"y":null}"#).refusal == nil)
    }

    @Test("a view state over its limit is refused and changes nothing")
    func tooLarge() throws {
        let fixture = try Fixture { $0.stateBytes = 200 }
        let note = String(repeating: "n", count: 300)
        #expect(try fixture.send(#"{"type":"write","note":"\#(note)"}"#).refusal == "tooLarge")
        #expect(try fixture.send(#"{"type":"add","amount":1}"#).get().version == 2)
    }

    @Test("labels that the outbox could never hold are refused without losing others")
    func labelTooLarge() throws {
        let fixture = try Fixture { $0.outboxBytes = 1_000 }
        try fixture.send(#"{"type":"shout","text":"a"}"#)
        let text = String(repeating: "x", count: 2_000)
        #expect(try fixture.send(#"{"type":"shout","text":"\#(text)"}"#).refusal == "tooLarge")
        #expect(try fixture.stream("tally").read().said == ["a"])
    }

    @Test("a turn may have at most the number of labels that a session keeps", arguments: [1_000, 1_001])
    func manyLabels(count: Int) throws {
        let fixture = try Fixture()
        let texts = [String](repeating: #""a""#, count: count).joined(separator: ",")
        let answer = try fixture.send(#"{"type":"shoutMany","texts":[\#(texts)]}"#)
        #expect(answer.refusal == (count > 1_000 ? "tooLarge" : nil))
        #expect(try fixture.stream("tally", from: .earliest).read().said.count == (count > 1_000 ? 0 : 1_000))
    }

    @Test("a key may have the name of a server's own turn")
    func ownNames() throws {
        let fixture = try Fixture()
        let stream = try fixture.stream("tally")
        _ = try stream.read()
        try fixture.send(#"{"type":"add","amount":1}"#, key: "bootstrap")
        #expect(try stream.read().first?.json.intent == "bootstrap")
    }

    @Test("an unknown feature or instance, and a superfluous or missing key, have no store")
    func unknownFeatures() throws {
        let fixture = try Fixture()
        for id in ["nobody", "tally:1", "keyed", "keyed:none"] {
            #expect(
                try fixture.send(#"{"type":"add","amount":1}"#, to: FeatureID(id)).refusal
                    == "featureNotFound")
        }
        #expect(fixture.session.storeIDs.isEmpty)
    }

    @Test("a session has a limit of stores, and a disposed one frees its place")
    func storeLimit() throws {
        let fixture = try Fixture { $0.storesPerSession = 2 }
        for key in ["a", "b"] {
            #expect(try fixture.send(#"{"type":"rename","to":"x"}"#, to: FeatureID("keyed:\(key)")).refusal == nil)
        }
        #expect(
            try fixture.send(#"{"type":"rename","to":"x"}"#, to: FeatureID("keyed:c")).refusal
                == "tooManyStores")
        #expect(try fixture.session.removed(try #require(FeatureID("keyed:a"))))
        #expect(try fixture.send(#"{"type":"rename","to":"x"}"#, to: FeatureID("keyed:c")).refusal == nil)
    }

    // MARK: Receipts

    @Test("the same key again is answered from the receipt and does not run")
    func replay() throws {
        let fixture = try Fixture()
        let first = try fixture.send(#"{"type":"add","amount":5}"#, key: "k").get()
        try fixture.send(#"{"type":"add","amount":1}"#)
        let again = try fixture.send(#"{"type":"add","amount":5}"#, key: "k").get()
        #expect(first.id.text == "k")
        #expect(again.isReplayed && !first.isReplayed)
        #expect(again.id == first.id)
        #expect(again.version == first.version)
        #expect(again.state?.version == 3, "the state now, with the version that it has")
        #expect(try fixture.stream("tally").read().counts == [6])
    }

    @Test("a key belongs to its feature and to its body")
    func keyScope() throws {
        let fixture = try Fixture()
        try fixture.send(#"{"type":"add","amount":5}"#, key: "k")
        #expect(try fixture.send(#"{"type":"add","amount":6}"#, key: "k").refusal == "receiptConflict")
        #expect(try fixture.send(#"{"type":"rename","to":"x"}"#, key: "k", to: FeatureID("keyed:1")).refusal == nil)
    }

    @Test("refusals leave no receipt")
    func noReceipt() throws {
        let fixture = try Fixture()
        for body in [#"{"type":"fail"}"#, #"{"type":"fly"}"#, #"{"type":"add","amount":5000}"#, "{"] {
            #expect(try fixture.send(body, key: "k").refusal != nil)
        }
        #expect(try fixture.send(#"{"type":"add","amount":5}"#, key: "k").get().isReplayed == false)
    }

    @Test("before the commit the key is in use, and nothing is visible")
    func pendingReceipt() async throws {
        let journal = HeldJournal()
        let fixture = try Fixture(journal: journal)
        let stream = try fixture.stream("tally")
        _ = try stream.read()
        journal.hold()
        let answer = Answer()
        fixture.session.send(
            IntentRequest(body: Array(#"{"type":"shoutMany","texts":["a"]}"#.utf8), name: .key("k")),
            to: fixture.tally
        ) { answer.set($0) }
        #expect(answer.value == nil)
        #expect(try fixture.send(#"{"type":"shoutMany","texts":["a"]}"#, key: "k").refusal == "receiptPending")
        #expect(try stream.read().isEmpty)
        #expect(try fixture.session.stateNow(of: fixture.tally).version == 1)
        journal.release()
        #expect(try await answer.wait().get().version == 2)
        #expect(try stream.read().names == ["state", "label"])
        #expect(try fixture.send(#"{"type":"shoutMany","texts":["a"]}"#, key: "k").get().isReplayed)
    }

    @Test("49: a commit that fails refuses the intent, drops its labels and leaves its key free")
    func failedCommit() async throws {
        let journal = HeldJournal()
        let fixture = try Fixture(journal: journal)
        let stream = try fixture.stream("tally")
        _ = try stream.read()
        journal.hold()
        let answer = Answer()
        fixture.session.send(
            IntentRequest(body: Array(#"{"type":"shoutMany","texts":["a"]}"#.utf8), name: .key("k")),
            to: fixture.tally
        ) { answer.set($0) }
        journal.releaseOne(.failed(StoreError(.full, "No space left.")))
        #expect(try await answer.wait().refusal == "full")
        #expect(try stream.read().isEmpty)
        let retry = Answer()
        fixture.session.send(
            IntentRequest(body: Array(#"{"type":"shoutMany","texts":["a"]}"#.utf8), name: .key("k")),
            to: fixture.tally
        ) { retry.set($0) }
        journal.release()
        #expect(try await retry.wait().get().isReplayed == false)
        #expect(try stream.read().said == ["a"])
    }

    @Test("receipts are bounded; one younger than ten minutes is never dropped for a new one")
    func receiptBound() throws {
        let fixture = try Fixture { $0.receiptsPerSession = 3 }
        for number in 1...3 { #expect(try fixture.send(#"{"type":"nothing"}"#, key: "\(number)").refusal == nil) }
        #expect(try fixture.send(#"{"type":"nothing"}"#, key: "4").refusal == "tooManyReceipts")
        #expect(try fixture.send(#"{"type":"nothing"}"#, key: "1").get().isReplayed)
        fixture.time.advance(by: .seconds(601))
        #expect(try fixture.send(#"{"type":"nothing"}"#, key: "4").refusal == nil)
        #expect(try fixture.send(#"{"type":"nothing"}"#, key: "2").get().isReplayed)
        #expect(try fixture.send(#"{"type":"nothing"}"#, key: "1").get().isReplayed == false, "it made room for 4")
    }

    @Test("receipts are also limited in bytes: long keys leave room for fewer")
    func receiptBytes() throws {
        let fixture = try Fixture { $0.receiptBytes = 3_000 }
        func key(_ number: Int) -> String { String(repeating: "k", count: 199) + "\(number)" }
        for number in 1...3 { #expect(try fixture.send(#"{"type":"nothing"}"#, key: key(number)).refusal == nil) }
        #expect(try fixture.send(#"{"type":"nothing"}"#, key: key(4)).refusal == "tooManyReceipts")
        #expect(try fixture.send(#"{"type":"nothing"}"#, key: "short").refusal == nil)
        fixture.time.advance(by: .seconds(601))
        #expect(try fixture.send(#"{"type":"nothing"}"#, key: key(4)).refusal == nil)
        #expect(try fixture.send(#"{"type":"nothing"}"#, key: key(3)).get().isReplayed)
        #expect(try fixture.send(#"{"type":"nothing"}"#, key: key(1)).get().isReplayed == false, "it made room for 4")
    }

    @Test("keys that are refused repeatedly take no place")
    func refusedKeysAreFree() throws {
        let fixture = try Fixture { $0.receiptsPerSession = 3 }
        for number in 1...1_000 { try fixture.send(#"{"type":"fly"}"#, key: "\(number)") }
        #expect(try fixture.send(#"{"type":"nothing"}"#, key: "k").refusal == nil)
    }

    // MARK: Preconditions

    @Test("48: If-Match is tested when the intent runs, after the intents before it")
    func precondition() async throws {
        let journal = HeldJournal()
        let fixture = try Fixture(journal: journal)
        _ = try fixture.session.stateNow(of: fixture.tally)
        #expect(try fixture.send(#"{"type":"add","amount":1}"#, ifMatch: { $0 == 1...1 }).get().version == 2)
        #expect(
            try fixture.send(#"{"type":"add","amount":1}"#, ifMatch: { $0 == 1...1 }).refusal == "preconditionFailed")
        journal.hold()
        let answers = (0..<3).map { _ in Answer() }
        for (answer, version) in zip(answers, [UInt64(2), 3, 3]) {
            fixture.session.send(
                IntentRequest(body: Array(#"{"type":"add","amount":1}"#.utf8), ifMatch: { $0 == version...version }),
                to: fixture.tally
            ) { answer.set($0) }
        }
        journal.release()
        journal.release()
        #expect(try await answers[0].wait().get().version == 3)
        #expect(try await answers[1].wait().get().version == 4)
        #expect(
            try await answers[2].wait().refusal == "preconditionFailed", "the one before it in the batch changed it")
    }

    @Test("order of checks: broken JSON, then the receipt, then If-Match, then the intent")
    func order() throws {
        let fixture = try Fixture()
        try fixture.send(#"{"type":"add","amount":1}"#, key: "k")
        #expect(try fixture.send("{", key: "k", ifMatch: { _ in false }).refusal == "malformed")
        #expect(try fixture.send(#"{"type":"fly"}"#, key: "k", ifMatch: { _ in false }).refusal == "receiptConflict")
        #expect(try fixture.send(#"{"type":"fly"}"#, key: "l", ifMatch: { _ in false }).refusal == "preconditionFailed")
        #expect(try fixture.send(#"{"type":"fly"}"#, key: "l", ifMatch: { _ in true }).refusal != "precondition")
    }

    // MARK: Waits

    @Test("40: a wait ends when no work that the intent launched is running, with the state at that time")
    func settles() async throws {
        let gate = Gate()
        let fixture = try Fixture(gate: gate)
        let answer = Answer()
        fixture.session.send(
            IntentRequest(body: Array(#"{"type":"load"}"#.utf8), wait: .seconds(5)), to: fixture.tally
        ) { answer.set($0) }
        #expect(answer.value == nil)
        gate.open()
        let reply = try await answer.wait().get()
        #expect(reply.isSettled)
        #expect(reply.version == 1)
        #expect(reply.state?.version == 2)
        #expect(fixture.table.environment.openWaits == 0)
    }

    @Test("a wait ends after its capped time, and reports that work is still running")
    func waitTimeout() async throws {
        let fixture = try Fixture()
        let answer = Answer()
        fixture.session.send(
            IntentRequest(body: Array(#"{"type":"load"}"#.utf8), wait: .seconds(3_600)), to: fixture.tally
        ) { answer.set($0) }
        await fixture.clock.sleepers(atLeast: 1)
        fixture.clock.advance(by: .seconds(10))
        let reply = try await answer.wait().get()
        #expect(!reply.isSettled)
        #expect(fixture.table.environment.openWaits == 0)
    }

    @Test("beyond the limit of waits the answer comes at once")
    func waitBound() throws {
        let fixture = try Fixture()
        for _ in 0..<2 {
            let answer = Answer()
            fixture.session.send(
                IntentRequest(body: Array(#"{"type":"load"}"#.utf8), wait: .seconds(5)), to: fixture.tally
            ) { answer.set($0) }
            #expect(answer.value == nil)
        }
        let answer = Answer()
        fixture.session.send(
            IntentRequest(body: Array(#"{"type":"load"}"#.utf8), wait: .seconds(5)), to: fixture.tally
        ) { answer.set($0) }
        #expect(try #require(answer.value).get().isSettled == false)
    }

    @Test("a long poll is answered when the state changes, or after its time with the old one")
    func longPoll() async throws {
        let fixture = try Fixture()
        let first = StateAnswer()
        fixture.session.state(of: fixture.tally, wait: .seconds(5), until: { $0.version != 1 }) { first.set($0) }
        #expect(first.value == nil)
        try fixture.send(#"{"type":"add","amount":1}"#)
        #expect(try first.value?.get().version == 2)

        let second = StateAnswer()
        fixture.session.state(of: fixture.tally, wait: .seconds(5), until: { $0.version != 2 }) { second.set($0) }
        await fixture.clock.sleepers(atLeast: 1)
        fixture.clock.advance(by: .seconds(5))
        #expect(try await second.wait().get().version == 2)
        #expect(fixture.table.environment.openWaits == 0)
    }
}

final class StateAnswer: Sendable {
    private let box = Lock<Result<StateSnapshot, StoreError>?>(nil)
    private let arrived = Gate()

    func set(_ value: Result<StateSnapshot, StoreError>) {
        box.withLock { $0 = value }
        arrived.open()
    }

    var value: Result<StateSnapshot, StoreError>? { box.withLock { $0 } }

    func wait() async throws -> Result<StateSnapshot, StoreError> {
        try await arrived.wait()
        return try #require(value)
    }
}
