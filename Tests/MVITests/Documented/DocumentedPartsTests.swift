import MVI
import MVITesting
import Testing

// The code of the article "Sections and lists": what the article shows stands here, word for word.

struct Item: Part, Identifiable {
    enum Message: Equatable, Sendable { case saveStarted(count: Int), saved, saveFailed }

    let id: String
    var count = 0
    var isSaving = false

    mutating func reduce(_ message: Message) {
        switch message {
        case .saveStarted(let count): (self.count, isSaving) = (count, true)
        case .saved, .saveFailed: isSaving = false
        }
    }
}

typealias Save = @Sendable (String, Int) async throws -> Void

extension PartTurn where P == Item {
    mutating func set(_ count: Int, _ save: @escaping Save) {
        dispatch(.saveStarted(count: count))
        launch(id: "save", policy: .cancelPrevious) { [id = state.id] work in
            do {
                try await save(id, count)
                await work.dispatch(.saved)
            } catch {
                await work.dispatch(.saveFailed)
            }
        }
    }
}

struct Basket: Feature {
    struct State: Codable, Equatable, Sendable {
        var bags = Item(id: "bags")
        var items = Item.List()
    }
    enum Intent: Codable, Sendable {
        case add(id: String), remove(id: String), set(id: String, count: Int)
        case bags(Int)
    }
    enum Message: Equatable, Sendable {
        case added(Item)
        case removed(id: String)
        case bags(Item.Message)
        case item(id: String, Item.Message)
    }
    static let examples: [Intent] = [
        .add(id: "tea"), .remove(id: "tea"), .set(id: "tea", count: 2), .bags(1),
    ]
    let initialState = State()
    let save: Save

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .add(let id): turn.dispatch(.added(Item(id: id)))
        case .remove(let id): turn.dispatch(.removed(id: id))
        case .set(let id, let count):
            turn.part(id, in: \.items, Message.item) { $0.set(count, save) }
        case .bags(let count):
            turn.part(\.bags, Message.bags) { $0.set(count, save) }
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .added(let item): state.items.append(item)
        case .removed(let id): state.items.remove(id: id)
        case .bags(let message): state.bags.reduce(message)
        case .item(let id, let message): state.items.reduce(id, message)
        }
    }
}

enum Screen: Codable, Equatable, Sendable {
    case basket
    case editing(Item)

    var item: Item? {
        get { if case .editing(let item) = self { item } else { nil } }
        set { if let newValue { self = .editing(newValue) } }
    }
}

private struct Screens: Feature {
    struct State: Codable, Equatable, Sendable { var screen = Screen.basket }
    enum Intent: Codable, Sendable { case show(Screen), set(count: Int) }
    enum Message: Equatable, Sendable {
        case showed(Screen)
        case item(Item.Message)
    }
    static let examples: [Intent] = [.show(.basket), .set(count: 2)]
    let initialState = State()
    let save: Save

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .show(let screen): turn.dispatch(.showed(screen))
        case .set(let count):
            turn.part(\.screen.item, Message.item) { $0.set(count, save) }
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .showed(let screen): state.screen = screen
        case .item(let message): state.screen.item?.reduce(message)
        }
    }
}

struct Bag: Part, Identifiable {
    enum Message: Equatable, Sendable { case item(id: String, Item.Message) }

    let id: String
    var items = Item.List()

    mutating func reduce(_ message: Message) {
        switch message {
        case .item(let id, let message): items.reduce(id, message)
        }
    }
}

extension PartTurn where P == Bag {
    mutating func set(_ count: Int, of item: String, _ save: @escaping Save) {
        part(item, in: \.items, P.Message.item) { $0.set(count, save) }
    }
}

private struct Bags: Feature {
    struct State: Codable, Equatable, Sendable {
        var bags: Bag.List = [
            Bag(id: "small", items: [Item(id: "tea")]), Bag(id: "big", items: [Item(id: "tea"), Item(id: "jam")]),
        ]
    }
    enum Intent: Codable, Sendable { case remove(bag: String), set(bag: String, item: String, count: Int) }
    enum Message: Equatable, Sendable {
        case removed(id: String)
        case bag(id: String, Bag.Message)
    }
    static let examples: [Intent] = [.remove(bag: "big"), .set(bag: "big", item: "tea", count: 2)]
    let initialState = State()
    let save: Save

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .remove(let id): turn.dispatch(.removed(id: id))
        case .set(let bag, let item, let count):
            turn.part(bag, in: \.bags, Message.bag) { $0.set(count, of: item, save) }
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .removed(let id): state.bags.remove(id: id)
        case .bag(let id, let message): state.bags.reduce(id, message)
        }
    }
}

struct Offer: Part {
    enum Message: Equatable, Sendable { case ticked(secondsLeft: Int) }

    var secondsLeft: Int

    mutating func reduce(_ message: Message) {
        switch message {
        case .ticked(let secondsLeft): self.secondsLeft = secondsLeft
        }
    }
}

extension PartTurn where P == Offer {
    mutating func countDown() {
        let end = now + .seconds(state.secondsLeft)
        timer(id: "countdown", every: .seconds(1)) { work in
            await work.turn { offer in
                let left = max(0, (end - offer.now).components.seconds)
                offer.dispatch(.ticked(secondsLeft: Int(left)))
                if left == 0 { offer.cancel("countdown") }
            }
        }
    }
}

private struct Offers: Feature {
    struct State: Codable, Equatable, Sendable { var offer: Offer? }
    enum Intent: Codable, Sendable { case offer(seconds: Int), take }
    enum Message: Equatable, Sendable { case offered(Offer), taken, offer(Offer.Message) }
    static let examples: [Intent] = [.offer(seconds: 2), .take]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .offer(let seconds):
            turn.dispatch(.offered(Offer(secondsLeft: seconds)))
            turn.part(\.offer, Message.offer) { $0.countDown() }
        case .take: turn.dispatch(.taken)
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .offered(let offer): state.offer = offer
        case .taken: state.offer = nil
        case .offer(let message): state.offer?.reduce(message)
        }
    }
}

@Suite struct DocumentedPartsTests {
    @Test("the documented basket saves its bags and its items, each by itself, and saves none that is gone")
    func basket() async {
        let gate = Gate()
        let saved = Collected<String>()
        let store = TestStore(
            Basket { id, count in
                try await gate.wait()
                saved.append("\(id) \(count)")
            })
        await store.send(.add(id: "tea"))
        await store.receive(.added(Item(id: "tea"))) { $0.items = [Item(id: "tea")] }
        await store.send(.set(id: "tea", count: 2))
        await store.receive(.item(id: "tea", .saveStarted(count: 2))) {
            $0.items = [Item(id: "tea", count: 2, isSaving: true)]
        }
        await store.send(.bags(1))
        await store.receive(.bags(.saveStarted(count: 1))) { $0.bags = Item(id: "bags", count: 1, isSaving: true) }
        await store.send(.remove(id: "tea"))
        await store.receive(.removed(id: "tea")) { $0.items = [] }
        await store.send(.set(id: "tea", count: 3))
        gate.open()
        await store.receive(.bags(.saved)) { $0.bags.isSaving = false }
        // The tea left the basket before it was saved, and its work with it.
        #expect(saved.all == ["bags 1"])
        await store.finish()
    }

    @Test("the documented screen saves the item that it edits, and no longer when it shows another or the basket")
    func screens() async {
        let gate = Gate()
        let saved = Collected<String>()
        let store = TestStore(
            Screens { id, count in
                try await gate.wait()
                saved.append("\(id) \(count)")
            }, exhaustive: false)
        for screen in [Screen.editing(Item(id: "tea")), .editing(Item(id: "jam")), .basket] {
            await store.send(.show(screen))
            await store.send(.set(count: 1))
        }
        #expect(store.workInProgress.isEmpty)
        await store.send(.show(.editing(Item(id: "tea"))))
        await store.send(.set(count: 2))
        gate.open()
        await store.receive(.item(.saved)) { $0.screen = .editing(Item(id: "tea", count: 2)) }
        #expect(saved.all == ["tea 2"])
        await store.finish()
    }

    @Test("the documented bags save their items, each by itself, and a bag that is removed saves none")
    func bags() async {
        let gate = Gate()
        let saved = Collected<String>()
        let store = TestStore(
            Bags { id, count in
                try await gate.wait()
                saved.append("\(id) \(count)")
            }, exhaustive: false)
        for (bag, item) in [("small", "tea"), ("big", "tea"), ("big", "jam")] {
            await store.send(.set(bag: bag, item: item, count: 2))
        }
        #expect(store.workInProgress == ["save of tea in small", "save of tea in big", "save of jam in big"])
        await store.send(.remove(bag: "big"))
        gate.open()
        await store.receive(.bag(id: "small", .item(id: "tea", .saved)))
        #expect(saved.all == ["tea 2"])
        #expect(store.state.bags == [Bag(id: "small", items: [Item(id: "tea", count: 2)])])
        await store.finish()
    }

    @Test("the documented offer counts down until its time is up or it is taken")
    func offers() async {
        let store = TestStore(Offers())
        await store.send(.offer(seconds: 2))
        await store.receive(.offered(Offer(secondsLeft: 2))) { $0.offer = Offer(secondsLeft: 2) }
        await store.advance(by: .seconds(2))
        for left in [1, 0] { await store.receive(.offer(.ticked(secondsLeft: left))) { $0.offer?.secondsLeft = left } }
        #expect(store.workInProgress.isEmpty)
        await store.send(.offer(seconds: 9))
        await store.receive(.offered(Offer(secondsLeft: 9))) { $0.offer = Offer(secondsLeft: 9) }
        await store.send(.take)
        await store.receive(.taken) { $0.offer = nil }
        await store.finish()
    }
}
