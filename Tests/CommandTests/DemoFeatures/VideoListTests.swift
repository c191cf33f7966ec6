import MVITesting
import Testing

@testable import DemoFeatures

@Suite struct VideoListTests {
    private let loaded = VideoList.State(videos: [.sample], views: 1_000)

    @Test func `every intent and label has an example`() { checkExamples(of: VideoList.self) }

    @Test func `when the view appears the list loads, and the number separately`() async {
        let gate = Gate()
        let store = TestStore(
            VideoList(
                videos: StubVideos(
                    onAll: { [.sample] },
                    onViews: {
                        try await gate.wait()
                        return 48_312
                    })))
        #expect(store.view == VideoList.ViewState(status: .empty, videos: []))
        await store.send(.onAppear)
        await store.receive(.loadStarted) { $0.isLoading = true }
        await store.receive(.videosLoaded([.sample])) {
            $0.videos = [.sample]
            $0.isLoading = false
        }
        #expect(store.view.views == nil)
        gate.open()
        await store.receive(.viewsCounted(48_312)) { $0.views = 48_312 }
        #expect(
            store.view
                == VideoList.ViewState(
                    status: .content, summary: "1 video, 45 min", views: "48,312 views",
                    videos: [
                        VideoList.ViewState.Row(
                            id: 3, title: "Server-sent events", subtitle: "Priya Raghavan · Web Plumbers 2025",
                            duration: "45 min")
                    ]))
        await store.finish()
    }

    @Test func `returning keeps the list and loads the number again`() async {
        let store = TestStore(VideoList(videos: StubVideos(onViews: { 2_000 })), state: loaded)
        await store.send(.onAppear)
        await store.receive(.viewsCounted(2_000)) { $0.views = 2_000 }
        await store.finish()
    }

    @Test func `a failure is shown, and a retry that works clears it`() async {
        let answers = Sequenced<[Video]>(.failure(StubFailure()), .success([.sample]))
        let store = TestStore(VideoList(videos: StubVideos(onAll: { try answers.next() })))
        await store.send(.onAppear)
        await store.receive(.loadStarted) { $0.isLoading = true }
        await store.receive(.loadFailed) {
            $0.isLoading = false
            $0.hasFailed = true
        }
        #expect(
            store.view
                == VideoList.ViewState(status: .error, error: "The videos could not be loaded.", videos: []))
        await store.send(.retry)
        await store.receive(.loadStarted) {
            $0.isLoading = true
            $0.hasFailed = false
        }
        await store.receive(.videosLoaded([.sample])) {
            $0.videos = [.sample]
            $0.isLoading = false
        }
        #expect(store.view.status == .content)
        #expect(store.view.error == nil)
        await store.finish()
    }

    @Test func `tapping a video opens it and counts the view`() async {
        let store = TestStore(VideoList(videos: StubVideos(onRecord: { _ in 1_001 })), state: loaded)
        await store.send(.tapVideo(id: 3))
        await store.expect(
            .openVideo(title: "Server-sent events", url: "https://videos.example.org/server-sent-events"))
        await store.receive(.viewsCounted(1_001)) { $0.views = 1_001 }
        await store.finish()
    }

    @Test func `a video opens even if its view cannot be counted`() async {
        let store = TestStore(VideoList(videos: StubVideos()), state: loaded)
        await store.send(.tapVideo(id: 3))
        await store.expect(
            .openVideo(title: "Server-sent events", url: "https://videos.example.org/server-sent-events"))
        await store.finish()
    }

    @Test(arguments: [0, -1, 4, Int.max]) func `a video that is not in the list opens nothing`(id: Int) async {
        let store = TestStore(VideoList(videos: StubVideos()), state: loaded)
        await store.send(.tapVideo(id: id))
        await store.expect(.toast(text: "This video is not in the list"))
        await store.finish()
    }

    @Test func `a store saved while loading loads again`() async {
        let store = TestStore(
            VideoList(videos: StubVideos(onAll: { [.sample] })), state: VideoList.State(isLoading: true))
        await store.receive(.loadStarted)
        await store.receive(.videosLoaded([.sample])) {
            $0.videos = [.sample]
            $0.isLoading = false
        }
        await store.finish()
    }
}
