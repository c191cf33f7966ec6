import MVI
import Testing
import WireJSON

@testable import DemoFeatures

/// Tests the JSON of the features.
@Suite struct WireTests {
    private func json(_ value: some Encodable) throws -> String {
        String(decoding: try WireJSON.encode(value), as: UTF8.self)
    }

    private func check<F: Feature>(_ feature: F) throws where F.Intent: Equatable {
        for example in F.examples {
            try WireJSON.checkMapping(of: example)
            #expect(try WireJSON.decode(F.Intent.self, from: WireJSON.encode(example)) == example)
        }
        for example in F.labelExamples {
            try WireJSON.checkMapping(of: example)
            #expect(try WireJSON.decode(F.Label.self, from: WireJSON.encode(example)) == example)
        }
        let state = feature.initialState
        #expect(try WireJSON.decode(F.State.self, from: WireJSON.encode(state)) == state)
        let view = feature.view(state)
        #expect(try WireJSON.decode(F.ViewState.self, from: WireJSON.encode(view)) == view)
    }

    @Test func `every feature's intents, labels and states survive a round trip`() throws {
        try check(Counter(numbers: StubNumbers()))
        try check(VideoList(videos: StubVideos()))
        try check(UserInfo(users: StubUsers()))
        try check(LessonDetail(id: "8", lessons: StubLessons(), logger: LogRecorder().logger))
        try check(OrderDetail(id: "42", orders: StubOrders()))
        try check(Checklist())
    }

    @Test func `the names on the wire are the documented ones`() {
        #expect(Counter.name == "counter")
        #expect(VideoList.name == "video-list")
        #expect(UserInfo.name == "user-info")
        #expect(LessonDetail.name == "lesson-detail")
        #expect(OrderDetail.name == "order-detail")
        #expect(Checklist.name == "checklist")
    }

    @Test func `the counter's state, intents and labels have the documented JSON`() throws {
        #expect(try json(Counter.State(count: 5)) == #"{"count":5,"isLoading":false}"#)
        #expect(
            try Counter.examples.map(json) == [
                #"{"type":"increment"}"#, #"{"type":"decrement"}"#, #"{"type":"add","amount":5}"#,
                #"{"type":"load"}"#,
            ])
        #expect(try json(Counter.Label.milestone(count: 10)) == #"{"type":"milestone","count":10}"#)
    }

    @Test func `a state during loading survives a round trip`() throws {
        var order = OrderDetail.State()
        order.status = StatusSection(status: Loadable(content: .onSite, isLoading: true), step: .complete)
        order.fee.fee = Loadable(content: .sample, hasFailed: true)
        #expect(try WireJSON.decode(OrderDetail.State.self, from: WireJSON.encode(order)) == order)
        let lesson = LessonDetail.State(lesson: .sample, change: .sending)
        #expect(try WireJSON.decode(LessonDetail.State.self, from: WireJSON.encode(lesson)) == lesson)
    }
}
