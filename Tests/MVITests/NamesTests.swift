import MVI
import MVITesting
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

    @Test("48: a turn's record has its intent's id, labels, attachment, and its events where they are recorded")
    func record() throws {
        for isRecording in [false, true] {
            let log = PreparedLog<Script>([])
            let store = Store(
                { intent, turn in
                    turn.dispatch(intent)
                    turn.publish("label")
                }, environment: StoreEnvironment(isRecording: isRecording), log: log)
            store.accept("a", id: IntentID("1"))
            store.accept("b")
            let records = log.commits.all.dropFirst().joined()
            let first = try #require(records.first)
            #expect(first.intentID.text == "1")
            #expect(first.isViewChanged)
            #expect(first.view.messages == ["a"])
            #expect(first.labels == ["label"])
            #expect(first.events.count == (isRecording ? 3 : 0))
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
