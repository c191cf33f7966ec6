import MVI
import MVITesting
import Testing

/// A note that counts seconds and asks for an answer.
private struct Note: Part {
    enum Message: Equatable, Sendable { case ticked, answered(String), closed }

    var ticks = 0
    var answer = ""

    mutating func reduce(_ message: Message) {
        switch message {
        case .ticked: ticks += 1
        case .answered(let text): answer = text
        case .closed: break
        }
    }
}

/// The same with an id.
private struct Card: Part, Identifiable {
    let id: Int
    var note = Note()

    mutating func reduce(_ message: Note.Message) { note.reduce(message) }
}

extension PartTurn where P.Message == Note.Message {
    fileprivate mutating func start(_ gate: Gate, _ answer: String) {
        launch(id: "tick") { work in
            while true {
                try await work.sleep(for: .seconds(1))
                await work.dispatch(.ticked)
            }
        }
        launch { work in
            try await gate.wait()
            await work.dispatch(.answered(answer))
        }
    }
}

private struct Desk: Feature {
    enum Screen: Codable, Equatable, Sendable {
        case list
        case note(Note)
        case card(Card)
    }
    struct State: Codable, Equatable, Sendable {
        var note: Note?
        var card: Card?
        var screen = Screen.list

        var screenNote: Note? {
            get { if case .note(let note) = screen { note } else { nil } }
            set { if let newValue { screen = .note(newValue) } }
        }
        var screenCard: Card? {
            get { if case .card(let card) = screen { card } else { nil } }
            set { if let newValue { screen = .card(newValue) } }
        }
    }
    enum Intent: Codable, Sendable {
        case open, close, replace, start(String), dismiss
        case openCard(Int), startCard(String)
        case show(Screen), startScreen(String)
    }
    enum Message: Equatable, Sendable {
        case opened, closed, note(Note.Message)
        case openedCard(Int), card(Note.Message)
        case showed(Screen), screenNote(Note.Message), screenCard(Note.Message)
    }
    static let examples: [Intent] = [
        .open, .close, .replace, .start("a"), .dismiss, .openCard(1), .startCard("a"), .show(.list), .startScreen("a"),
    ]
    let initialState = State()
    let gate = Gate()
    let seen = Collected<String>()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .open: turn.dispatch(.opened)
        case .close: turn.dispatch(.closed)
        case .replace:
            turn.dispatch(.closed)
            turn.dispatch(.opened)
        case .start(let answer):
            let isThere = turn.part(\.note, Message.note) { $0.start(gate, answer) }
            seen.append("\(isThere)")
        case .dismiss:
            turn.part(\.note, Message.note) { note in
                note.dispatch(.closed)
                note.dispatch(.ticked)
                note.start(gate, "late")
                seen.append("\(note.state.ticks)")
            }
        case .openCard(let id): turn.dispatch(.openedCard(id))
        case .startCard(let answer): turn.part(\.card, Message.card) { $0.start(gate, answer) }
        case .show(let screen): turn.dispatch(.showed(screen))
        case .startScreen(let answer):
            turn.part(\.screenNote, Message.screenNote) { $0.start(gate, answer) }
            turn.part(\.screenCard, Message.screenCard) { $0.start(gate, answer) }
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .opened: state.note = Note()
        case .closed, .note(.closed): state.note = nil
        case .note(let message): state.note?.reduce(message)
        case .openedCard(let id): state.card = Card(id: id)
        case .card(let message): state.card?.reduce(message)
        case .showed(let screen): state.screen = screen
        case .screenNote(let message): state.screenNote?.reduce(message)
        case .screenCard(let message): state.screenCard?.reduce(message)
        }
    }
}

@Suite("34, 76: parts that a state may be without", .timeLimit(.minutes(10)))
struct OptionalPartTests {
    @Test func `code of an optional part runs while the part is there, else it is counted as for a row that is gone`()
        async
    {
        let desk = Desk()
        let store = TestStore(desk)
        await store.send(.start("a"))
        #expect(desk.seen.all == ["false"])
        #expect(store.diagnostics.droppedForGoneParts == 1)
        #expect(store.workInProgress.isEmpty)
        await store.send(.open)
        await store.receive(.opened) { $0.note = Note() }
        await store.send(.start("a"))
        #expect(desk.seen.all == ["false", "true"])
        await store.advance(by: .seconds(1))
        await store.receive(.note(.ticked)) { $0.note?.ticks = 1 }
        desk.gate.open()
        await store.receive(.note(.answered("a"))) { $0.note?.answer = "a" }
        #expect(store.diagnostics.droppedForGoneParts == 1)
        await store.send(.close)
        await store.receive(.closed) { $0.note = nil }
        await store.finish()
    }

    @Test func `work of an optional part ends with the turn that sets it to nil, and a later value meets none of it`()
        async
    {
        let desk = Desk()
        let store = TestStore(desk, exhaustive: false)
        await store.send(.open)
        await store.send(.start("old"))
        await store.send(.close)
        #expect(store.workInProgress.isEmpty)
        #expect(store.diagnostics.droppedForGoneParts == 0)
        await store.send(.open)
        desk.gate.open()
        await store.advance(by: .seconds(2))
        #expect(store.state.note == Note())
        await store.send(.start("new"))
        await store.advance(by: .seconds(1))
        #expect(store.state.note == Note(ticks: 1, answer: "new"))
        await store.send(.close)
        await store.passivate()
        #expect(!store.isInMemory)
        await store.finish()
    }

    @Test func `a turn that sets a part without an id to nil and to a value again ends its work`() async {
        let store = TestStore(Desk(), exhaustive: false)
        await store.send(.open)
        await store.send(.start("a"))
        await store.send(.replace)
        await store.advance(by: .seconds(1))
        #expect(store.state.note == Note())
        await store.send(.close)
        await store.finish()
    }

    @Test func `a part that its own message sets to nil starts no work and is seen as it was last`() async {
        let desk = Desk()
        let store = TestStore(desk)
        await store.send(.open)
        await store.receive(.opened) { $0.note = Note() }
        await store.send(.dismiss)
        await store.receive(.note(.closed)) { $0.note = nil }
        #expect(desk.seen.all == ["0"])
        #expect(store.diagnostics.droppedForGoneParts == 1)
        #expect(store.workInProgress.isEmpty)
        await store.finish()
    }

    @Test func `an optional part that one with another id replaces gets no answer of the old one's`() async {
        let desk = Desk()
        let store = TestStore(desk, exhaustive: false)
        await store.send(.openCard(1))
        await store.send(.startCard("1"))
        await store.send(.openCard(2))
        #expect(store.workInProgress.isEmpty)
        await store.send(.startCard("2"))
        desk.gate.open()
        await store.advance(by: .seconds(1))
        #expect(store.state.card == Card(id: 2, note: Note(ticks: 1, answer: "2")))
        // The same one again goes on with its work.
        await store.send(.openCard(2))
        await store.advance(by: .seconds(1))
        #expect(store.state.card == Card(id: 2, note: Note(ticks: 1)))
        await store.send(.openCard(3))
        await store.finish()
    }

    @Test func `a case of an enum is a part: its work ends with the case and does not meet that of another`() async {
        let desk = Desk()
        let store = TestStore(desk, exhaustive: false)
        await store.send(.open)
        await store.send(.start("beside"))
        await store.send(.show(.note(Note())))
        await store.send(.startScreen("a note"))
        #expect(store.workInProgress.filter { $0 == "tick" }.count == 2)
        await store.advance(by: .seconds(1))
        #expect(store.state.screen == .note(Note(ticks: 1)))
        await store.send(.show(.card(Card(id: 1))))
        await store.send(.startScreen("card 1"))
        #expect(store.workInProgress.filter { $0.hasPrefix("tick") } == ["tick", "tick of 1"])
        await store.send(.show(.card(Card(id: 2))))
        desk.gate.open()
        await store.advance(by: .seconds(2))
        #expect(store.state.screen == .card(Card(id: 2)))
        #expect(store.state.note == Note(ticks: 3, answer: "beside"))
        await store.send(.close)
        await store.finish()
    }
}
