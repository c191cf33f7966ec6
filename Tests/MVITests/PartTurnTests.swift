import MVI
import MVITesting
import Testing

/// A text that is loaded, in as many places as a feature likes.
private struct Field: Part, Identifiable {
    enum Message: Equatable, Sendable { case started, loaded(String), failed }

    var id = 0
    var text = ""
    var isLoading = false

    mutating func reduce(_ message: Message) {
        switch message {
        case .started: isLoading = true
        case .loaded(let text): (self.text, isLoading) = (text, false)
        case .failed: isLoading = false
        }
    }
}

extension PartTurn where P == Field {
    /// Loads the text.
    fileprivate mutating func load(_ text: @escaping @Sendable () async throws -> String) {
        dispatch(.started)
        launch(id: "load", policy: .cancelPrevious) { work in
            do {
                await work.dispatch(.loaded(try await text()))
            } catch {
                await work.dispatch(.failed)
            }
        }
    }
}

/// Two fields and a list of others.
private struct Form: Feature {
    struct State: Codable, Equatable, Sendable {
        var name = Field()
        var city = Field()
        var lines = Field.List()
    }
    enum Intent: Codable, Sendable {
        case name, city, add(id: Int), line(id: Int), remove(id: Int), type(id: Int), stop, all
    }
    enum Message: Equatable, Sendable {
        case name(Field.Message)
        case city(Field.Message)
        case line(id: Int, Field.Message)
        case added(id: Int)
        case removed(id: Int)
    }
    static let examples: [Intent] = [
        .name, .city, .add(id: 1), .line(id: 1), .remove(id: 1), .type(id: 1), .stop, .all,
    ]
    let initialState = State()
    var gate = Gate()
    var seen = Collected<String>()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .name: turn.part(\.name, Message.name) { [gate] in $0.load { try await Self.answer("Ada", gate) } }
        case .city: turn.part(\.city, Message.city) { [gate] in $0.load { try await Self.answer("Lille", gate) } }
        case .add(let id): turn.dispatch(.added(id: id))
        case .remove(let id): turn.dispatch(.removed(id: id))
        case .line(let id):
            let isThere = turn.part(id, in: \.lines, Message.line) { [gate] line in
                line.load { try await Self.answer("line \(id)", gate) }
                seen.append("\(line.state.isLoading) \(line.isRunning("load")) \(line.isRunning("other"))")
            }
            seen.append("\(isThere) \(turn.isRunning("load"))")
        case .type(let id):
            turn.part(id, in: \.lines, Message.line) { line in
                line.debounce(id: "type", for: .seconds(1)) { work in
                    await work.dispatch(.loaded("typed after \(work.state?.text ?? "nothing")"))
                }
            }
        case .stop: turn.part(\.name, Message.name) { $0.cancel("load") }
        case .all:
            for id in turn.state.lines.ids {
                turn.part(id, in: \.lines, Message.line) { [seen] line in
                    line.launch(id: "timer") { work in
                        for count in 1...9 {
                            try await work.sleep(for: .seconds(1))
                            await work.turn { line in
                                line.dispatch(.loaded("\(count)"))
                                seen.append("\(id) \(line.state.text)")
                            }
                        }
                    }
                }
            }
        }
    }

    private static func answer(_ text: String, _ gate: Gate) async throws -> String {
        try await gate.wait()
        return text
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .name(let message): state.name.reduce(message)
        case .city(let message): state.city.reduce(message)
        case .line(let id, let message): state.lines.reduce(id, message)
        case .added(let id): state.lines.append(Field(id: id))
        case .removed(let id): state.lines.remove(id: id)
        }
    }
}

@Suite(.timeLimit(.minutes(10)))
struct PartTurnTests {
    @Test("76: code of a part runs in a feature's turn: its messages are the feature's, its work has steps of its own")
    func section() async {
        let form = Form()
        let store = TestStore(form)
        await store.send(.name)
        await store.receive(.name(.started)) { $0.name.isLoading = true }
        form.gate.open()
        await store.receive(.name(.loaded("Ada"))) { $0.name = Field(text: "Ada") }
        await store.finish()
    }

    @Test("34: work of the same id in several parts does not meet, nor does work of the feature")
    func ids() async {
        let form = Form()
        let store = TestStore(form, exhaustive: false)
        await store.send(.name)
        await store.send(.city)
        for id in 1...2 {
            await store.send(.add(id: id))
            await store.send(.line(id: id))
        }
        #expect(form.seen.all == ["true true false", "true false", "true true false", "true false"])
        #expect(store.workInProgress == ["load of 0", "load of 0", "load of 1", "load of 2"])
        // The same part again: the new one replaces the old one.
        await store.send(.line(id: 2))
        await store.send(.stop)
        #expect(store.workInProgress == ["load of 0", "load of 1", "load of 2"])
        form.gate.open()
        await store.receive(.line(id: 2, .loaded("line 2")))
        let state = store.state
        #expect(state.name == Field(isLoading: true))
        #expect(state.city == Field(text: "Lille"))
        #expect(state.lines == [Field(id: 1, text: "line 1"), Field(id: 2, text: "line 2")])
        await store.finish()
    }

    @Test("76: a part that is gone is left alone: what is meant for it is not run but counted, its work is cancelled")
    func gone() async {
        let form = Form()
        let store = TestStore(form, exhaustive: false)
        await store.send(.line(id: 7))
        #expect(form.seen.all == ["false false"])
        #expect(store.diagnostics.droppedForGoneParts == 1)
        for id in 1...2 { await store.send(.add(id: id)) }
        await store.send(.all)
        await store.advance(by: .seconds(1))
        await store.send(.remove(id: 1))
        await store.advance(by: .seconds(2))
        #expect(form.seen.all.dropFirst() == ["1 1", "2 1", "2 2", "2 3"])
        #expect(store.diagnostics.droppedForGoneParts == 1)
        #expect(store.workInProgress == ["timer of 2"])
        #expect(store.state.lines == [Field(id: 2, text: "3")])
        await store.advance(by: .seconds(9))
        await store.finish()
    }

    @Test("38: a part debounces by itself, and its work sees the part's present state")
    func debounce() async {
        let store = TestStore(Form(), exhaustive: false)
        for id in 1...2 { await store.send(.add(id: id)) }
        for id in [1, 1, 2, 1] { await store.send(.type(id: id)) }
        await store.advance(by: .seconds(1))
        #expect(store.state.lines.map(\.text) == ["typed after ", "typed after "])
        await store.finish()
    }

    @Test("what code of a part throws is thrown on, and the turn is undone as a whole")
    func throwing() async {
        struct Failing: Feature {
            struct State: Codable, Equatable, Sendable { var field = Field() }
            enum Intent: Codable, Sendable { case fail, catchIt }
            enum Message: Equatable, Sendable { case field(Field.Message) }
            static let examples: [Intent] = [.fail, .catchIt]
            let initialState = State()
            func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
                do {
                    try turn.part(\.field, Message.field) { field throws in
                        field.dispatch(.started)
                        throw Broken()
                    }
                } catch {
                    if case .fail = intent { throw error }
                    turn.dispatch(.field(.failed))
                }
            }
            func reduce(_ state: inout State, _ message: Message) {
                switch message {
                case .field(let message): state.field.reduce(message)
                }
            }
        }
        let store = TestStore(Failing())
        let error = await store.sendRejected(.fail)
        #expect(error?.failure?.error is Broken)
        #expect(store.state == Failing.State())
        await store.send(.catchIt)
        await store.receive(.field(.started)) { $0.field.isLoading = true }
        await store.receive(.field(.failed)) { $0.field.isLoading = false }
        await store.finish()
    }

    @Test("a part that its own message removes is seen as it was last")
    func removesItself() async {
        struct Shelf: Feature {
            struct State: Codable, Equatable, Sendable { var fields: Field.List = [Field(id: 1, text: "a")] }
            enum Intent: Codable, Sendable { case clear }
            enum Message: Equatable, Sendable { case field(id: Int, Field.Message) }
            static let examples: [Intent] = [.clear]
            let initialState = State()
            let seen = Collected<String>()
            func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
                turn.part(1, in: \.fields, Message.field) { field in
                    field.dispatch(.failed)
                    field.dispatch(.loaded("b"))
                    seen.append(field.state.text)
                }
            }
            func reduce(_ state: inout State, _ message: Message) {
                switch message {
                case .field(let id, .failed): state.fields.remove(id: id)
                case .field(let id, let message): state.fields.reduce(id, message)
                }
            }
        }
        let shelf = Shelf()
        let store = TestStore(shelf)
        await store.send(.clear)
        await store.receive(.field(id: 1, .failed)) { $0.fields = [] }
        #expect(shelf.seen.all == ["a"])
        #expect(store.diagnostics.droppedForGoneParts == 1)
        await store.finish()
    }
}
