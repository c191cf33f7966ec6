import MVI
import MVITesting
import TestSupport
import Testing
import WireJSON

@Suite(.timeLimit(.minutes(10)))
struct RecordingTests {
    @Test("54, 55: a turn's recording has its intent, actions, messages, state and labels")
    func recording() async throws {
        let log = AppendLog<Script>([])
        let script = Script(
            own: .intercepting { intent, _ in intent + "!" },
            onExecute: { intent, turn in
                turn.dispatch(intent)
                turn.send("act")
                turn.publish("label")
                turn.launch { work in
                    await work.turn { step in
                        step.dispatch("worked")
                        step.launch { await $0.dispatch("deep") }
                    }
                }
            })
        let executor = TestExecutor()
        let store = HostedStore(script, environment: StoreEnvironment(executor: executor), log: log)
        store.start()
        try await store.send("go", id: IntentID("id"))
        await executor.idle()
        let recordings = try log.recordings.map { turn in
            var recording = try WireJSON.decode(TurnRecording<Script>.self, from: turn.recording)
            #expect(recording.facts.microseconds != nil)
            recording.facts.microseconds = nil
            return String(decoding: try WireJSON.encode(recording), as: UTF8.self)
        }
        #expect(
            recordings == [
                #"{"intent":"‹bootstrap›","actions":[],"messages":[],"labels":[],"kind":"bootstrap","schemaVersion":1,"state":{"messages":[]}}"#,
                #"{"intent":"id","cause":{"type":"say","text":"go!"},"actions":["act"],"messages":["go!","act"],"#
                    + #""labels":["label"],"kind":"intent","schemaVersion":1,"launched":[""],"state":{"messages":["go!","act"]}}"#,
                #"{"intent":"id","actions":[],"messages":["worked"],"#
                    + #""labels":[],"kind":"step","schemaVersion":1,"launched":[""],"by":2,"state":{"messages":["go!","act","worked"]}}"#,
                #"{"intent":"id","actions":[],"messages":["deep"],"#
                    + #""labels":[],"kind":"step","schemaVersion":1,"by":3,"state":{"messages":["go!","act","worked","deep"]}}"#,
            ])
        let again = try WireJSON.decode(TurnRecording<Script>.self, from: Array(recordings[1].utf8))
        #expect(again.cause == "go!" && again.messages == ["go!", "act"] && again.labels == ["label"])
        store.dispose()
    }

    @Test("54: a feature without actions and labels is recorded as well")
    func none() throws {
        let recording = TurnRecording<Plain>(
            intent: "i", cause: .add(amount: 5), actions: [], messages: [.add(amount: 5)], state: 5, labels: [])
        let bytes = try WireJSON.encode(recording)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == #"{"intent":"i","cause":{"type":"add","amount":5},"actions":[],"#
                + #""messages":[{"type":"add","amount":5}],"labels":[],"state":5}"#)
        #expect(try WireJSON.decode(TurnRecording<Plain>.self, from: bytes).state == 5)
    }

    private struct Plain: Feature {
        enum Intent: Codable, Sendable { case add(amount: Int) }
        static let examples: [Intent] = [.add(amount: 5)]
        let initialState = 0
        func reduce(_ state: inout Int, _ message: Intent) {}
    }
}
