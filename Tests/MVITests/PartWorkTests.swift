import MVI
import MVITesting
import TestSupport
import Testing

/// A row that notes what its work did.
private struct Line: Part, Identifiable {
    enum Message: Equatable, Sendable { case noted(String), stamped(String, at: Timestamp) }

    var id = 0
    var notes: [String] = []

    mutating func reduce(_ message: Message) {
        switch message {
        case .noted(let text): notes.append(text)
        case .stamped(let id, let time): notes.append("\(id.suffix(2)) \(time)")
        }
    }
}

private struct Sheet: Feature {
    enum Kind: String, Codable, Sendable {
        case stamp, stampLater, timer, throttle, latest, watch, observe, observeWatched, cancel
    }
    struct State: Codable, Equatable, Sendable {
        var lines = Line.List()
    }
    enum Intent: Codable, Sendable { case add(Int), remove(Int), run(Kind, line: Int, text: String), stampAround }
    enum Message: Equatable, Sendable { case added(Int), removed(Int), line(Int, Line.Message) }
    static let examples: [Intent] = [.add(1), .remove(1), .run(.timer, line: 1, text: "a"), .stampAround]
    let initialState = State()
    let feed = Collected<AsyncStream<String>.Continuation>()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .add(let id): turn.dispatch(.added(id))
        case .remove(let id): turn.dispatch(.removed(id))
        case .run(let kind, let id, let text): turn.part(id, in: \.lines, Message.line) { run(kind, text, &$0) }
        case .stampAround:
            turn.dispatch(.line(1, .stamped(turn.uuid(), at: turn.now)))
            turn.part(1, in: \.lines, Message.line) { $0.dispatch(.stamped($0.uuid(), at: $0.now)) }
            turn.dispatch(.line(1, .stamped(turn.uuid(), at: turn.now)))
        }
    }

    private func run(_ kind: Kind, _ text: String, _ line: inout PartTurn<Line>) {
        switch kind {
        case .stamp: line.dispatch(.stamped(line.uuid(), at: line.now))
        case .stampLater:
            line.debounce(id: "work", for: .seconds(1)) { work in
                let now = work.now
                await work.turn { line in
                    line.dispatch(.stamped(line.uuid(), at: line.now))
                    line.dispatch(.noted("\(now == line.now)"))
                }
            }
        case .timer: line.timer(id: "work", every: .seconds(1)) { await $0.dispatch(.noted(text)) }
        case .throttle: line.throttle(id: "work", for: .seconds(1)) { await $0.dispatch(.noted(text)) }
        case .latest: line.throttle(id: "work", for: .seconds(1), latest: true) { await $0.dispatch(.noted(text)) }
        case .watch:
            line.whileWatched(id: "work", grace: .seconds(5)) { work in
                await work.dispatch(.noted(text))
                try await work.sleep(for: .seconds(100))
            }
        case .observe, .observeWatched:
            line.observe(id: "work", kind == .observe ? .store : .whileWatched()) { [feed] in
                let (elements, continuation) = AsyncStream.makeStream(of: String.self)
                feed.append(continuation)
                return elements
            } onElement: { element, work in
                await work.dispatch(.noted(element))
            }
        case .cancel: line.cancel("work")
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .added(let id): state.lines.append(Line(id: id))
        case .removed(let id): state.lines.remove(id: id)
        case .line(let id, let message): state.lines.reduce(id, message)
        }
    }
}

@Suite("34, 38, 39, 59: time, chance and schedules of parts", .timeLimit(.minutes(10)))
struct PartWorkTests {
    private let sheet = Sheet()

    private func store(lines: Int, exhaustive: Bool = false) async -> TestStore<Sheet> {
        let state = Sheet.State(lines: Line.List((1...lines).map { Line(id: $0) }))
        return TestStore(sheet, state: state, exhaustive: exhaustive)
    }

    private func notes(_ store: TestStore<Sheet>) -> [[String]] { store.state.lines.map(\.notes) }

    @Test func `a part has the time of its turn and the turn's next UUID, as has a step of its work`() async {
        let store = await store(lines: 1)
        await store.send(.stampAround)
        let start = "2026-01-01T00:00:00.000Z"
        #expect(notes(store) == [["01 \(start)", "02 \(start)", "03 \(start)"]])
        await store.send(.run(.stampLater, line: 1, text: ""))
        await store.advance(by: .seconds(1))
        #expect(notes(store)[0].dropFirst(3) == ["04 2026-01-01T00:00:01.000Z", "true"])
        await store.finish()
    }

    @Test func `a part in a turn that runs again after another writer was first gets the same time and UUIDs`() async {
        let store = TestStore(sheet)
        await store.send(.add(1))
        await store.receive(.added(1)) { $0.lines = [Line(id: 1)] }
        await store.changeElsewhere { $0.lines[id: 1]?.notes = ["elsewhere"] }
        await store.send(.run(.stamp, line: 1, text: ""))
        await store.receive(.line(1, .stamped("00000000-0000-4000-8000-000000000001", at: .testStart))) {
            $0.lines[id: 1]?.notes = ["elsewhere", "01 2026-01-01T00:00:00.000Z"]
        }
        await store.finish()
    }

    @Test func `a timer of a part fires each interval until it is cancelled or its part goes, and holds up no intent`()
        async
    {
        let store = await store(lines: 3)
        for id in 1...3 { await store.send(.run(.timer, line: id, text: "\(id)")) }
        await store.advance(by: .milliseconds(2_500))
        await store.send(.run(.cancel, line: 1, text: ""))
        await store.send(.remove(2))
        #expect(store.workInProgress == ["work of 3"])
        // Set again it starts anew.
        await store.send(.run(.timer, line: 3, text: "new"))
        await store.advance(by: .milliseconds(999))
        #expect(notes(store) == [["1", "1"], ["3", "3"]])
        await store.advance(by: .milliseconds(1))
        #expect(notes(store) == [["1", "1"], ["3", "3", "new"]])
        await store.send(.remove(3))
        await store.finish()
    }

    @Test func `a part throttles by itself: others run, and its own calls are held back`() async {
        let store = await store(lines: 2)
        for (id, text) in [(1, "a"), (1, "b"), (2, "a"), (1, "c")] {
            await store.send(.run(.throttle, line: id, text: text))
        }
        #expect(notes(store) == [["a"], ["a"]])
        await store.advance(by: .seconds(1))
        for (id, text) in [(1, "d"), (1, "e")] { await store.send(.run(.latest, line: id, text: text)) }
        await store.advance(by: .seconds(1))
        #expect(notes(store) == [["a", "d", "e"], ["a"]])
        await store.advance(by: .seconds(1))
        #expect(store.workInProgress.isEmpty)
        await store.finish()
    }

    @Test(arguments: [Sheet.Kind.throttle, .latest])
    fileprivate func `what a throttle holds back ends with its part, and so does its interval`(kind: Sheet.Kind) async {
        let store = await store(lines: 1)
        for text in ["a", "b"] { await store.send(.run(kind, line: 1, text: text)) }
        #expect(notes(store) == [["a"]])
        await store.send(.remove(1))
        #expect(store.workInProgress.isEmpty)
        #expect(store.diagnostics.runningWork == 0)
        await store.send(.add(1))
        // The old one's interval does not hold it back.
        await store.send(.run(kind, line: 1, text: "new"))
        #expect(notes(store) == [["new"]])
        await store.advance(by: .seconds(3))
        #expect(notes(store) == [["new"]])
        await store.finish()
    }

    @Test func `a part's work for watchers runs while the store is watched, and is forgotten with the part`() async {
        let store = await store(lines: 2)
        for id in 1...2 { await store.send(.run(.watch, line: id, text: "seen")) }
        #expect(notes(store) == [[], []])
        await store.beginWatching()
        #expect(notes(store) == [["seen"], ["seen"]])
        await store.endWatching()
        await store.advance(by: .seconds(5))
        #expect(store.workInProgress.isEmpty)
        // It neither runs nor waits for watchers when it goes.
        await store.send(.remove(1))
        await store.send(.add(1))
        await store.beginWatching()
        #expect(notes(store) == [["seen", "seen"], []])
        await store.send(.remove(2))
        #expect(store.workInProgress.isEmpty)
        await store.endWatching()
        await store.passivate()
        #expect(!store.isInMemory)
        await store.finish()
    }

    @Test func `a part observes a sequence until the part or the sequence goes`() async throws {
        let store = await store(lines: 2)
        for id in 1...2 { await store.send(.run(.observe, line: id, text: "")) }
        try #require(sheet.feed.all.count == 2)
        sheet.feed.all[0].yield("one")
        await store.receive(.line(1, .noted("one")))
        await store.send(.remove(1))
        #expect(store.workInProgress == ["work of 2"])
        sheet.feed.all[1].yield("two")
        sheet.feed.all[1].finish()
        await store.receive(.line(2, .noted("two")))
        await store.send(.run(.observeWatched, line: 2, text: ""))
        #expect(sheet.feed.all.count == 2)
        await store.beginWatching()
        #expect(sheet.feed.all.count == 3)
        await store.send(.remove(2))
        #expect(store.workInProgress.isEmpty)
        await store.endWatching()
        await store.finish()
    }
}
