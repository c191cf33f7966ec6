import MVI
import MVITesting
import TestSupport
import Testing

struct NamesTests {
    @Test("a feature's name is its type's, in lower case with hyphens")
    func featureNames() {
        #expect(LessonDetail.name == "lesson-detail")
        #expect(URLList.name == "url-list")
        #expect(Boxed<Int>.name == "boxed")
    }

    @Test("random intent ids are 13 characters of base 32, and of many threads' no two are the same")
    func intentIDs() async {
        let ids = Collected<[IntentID]>()
        await concurrently(4) { _ in ids.append((0..<1000).map { _ in .random() }) }
        let texts = ids.all.joined().map(\.text)
        #expect(Set(texts).count == 4000)
        let alphabet = Set("abcdefghijklmnopqrstuvwxyz234567")
        #expect(texts.allSatisfy { $0.count == 13 && alphabet.isSuperset(of: $0) })
    }

    @Test("48, 54: a turn's append has its intent's id, its labels, and what happened in it where that is recorded")
    func record() throws {
        for isRecording in [false, true] {
            let log = AppendLog<Script>(isRecording: isRecording)
            let store = HostedStore(
                { intent, turn in
                    turn.dispatch(intent)
                    turn.publish("label")
                }, log: log)
            store.accept("a", id: IntentID("1"))
            store.accept("b")
            let first = try #require(log.appends.dropFirst().first)
            let change = try #require(first.stores.first)
            #expect(change.viewIntent == "1")
            #expect(change.view.map { String(decoding: $0, as: UTF8.self) } == #"{"messages":["a"]}"#)
            #expect(first.labels.map(\.intent) == ["1"])
            #expect(first.labels.map { String(decoding: $0.json, as: UTF8.self) } == [#""label""#])
            #expect(log.batches.dropFirst().first?.map(\.labels) == (isRecording ? [["label"]] : []))
            store.dispose()
        }
    }
}

private protocol Nothing: Feature where State == Int, Intent == Int {}

extension Nothing {
    static var examples: [Int] { [1] }
    var initialState: Int { 0 }
    func reduce(_ state: inout Int, _ intent: Int) {}
}

private struct LessonDetail: Nothing {}
private struct URLList: Nothing {}
private struct Boxed<Value: Sendable>: Nothing {}
