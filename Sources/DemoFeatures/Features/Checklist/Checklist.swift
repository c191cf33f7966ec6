import MVI

/// A list that all clients share: everybody adds, checks and removes items, and sees who did it.
struct Checklist: Feature {
    struct State: Codable, Equatable, Sendable {
        var items: [Item] = []
        /// The number of items that were ever added; the last one has it as its id.
        var added = 0
    }

    struct Item: Codable, Equatable, Sendable {
        let id: Int
        let text: String
        var addedBy: String
        var checkedBy: String?
    }

    enum Intent: Codable, Equatable, Sendable {
        case add(text: String)
        case check(id: Int, isDone: Bool)
        case remove(id: Int)
        case clear
    }

    enum Action: Codable, Equatable, Sendable {
        case forget(names: [String])
    }

    enum Message: Codable, Equatable, Sendable {
        case added(text: String, by: String)
        case checked(id: Int, by: String?)
        case removed(ids: [Int])
        case forgotten(names: [String])
    }

    enum Label: Codable, Equatable, Sendable {
        case cleared(count: Int, by: String)
    }

    static let summary = "A list that everybody shares, one for each key."
    static let examples: [Intent] = [.add(text: "milk"), .check(id: 1, isDone: true), .remove(id: 1), .clear]
    static let labelExamples: [Label] = [.cleared(count: 2, by: "guest-k3xv")]
    static let itemLimit = 50
    static let textLimit = 100

    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        // Everybody sees the name: it is made of the sender's name in this space, which tells nothing about the person.
        let name = turn.sender.map { Self.name(of: $0.id) } ?? "server"
        switch intent {
        case .add(let text):
            try check(text)
            guard turn.state.items.count < Self.itemLimit else {
                throw Refusal(.conflict, code: "list-full", "A list has at most \(Self.itemLimit) items.")
            }
            turn.dispatch(.added(text: text, by: name))
        case .check(let id, let isDone):
            guard let item = turn.state.items.first(where: { $0.id == id }) else {
                throw Refusal(.notFound, code: "no-such-item", "The item was removed.", pointer: "/id")
            }
            // Of two who check an item at once, the first has done it.
            if (item.checkedBy != nil) != isDone { turn.dispatch(.checked(id: id, by: isDone ? name : nil)) }
        case .remove(let id):
            if turn.state.items.contains(where: { $0.id == id }) { turn.dispatch(.removed(ids: [id])) }
        case .clear:
            let done = turn.state.items.filter { $0.checkedBy != nil }.map(\.id)
            guard !done.isEmpty else { return }
            turn.dispatch(.removed(ids: done))
            turn.publish(.cleared(count: done.count, by: name))
        }
    }

    func presence(of viewer: Viewer) -> String? { viewer.sender.map { Self.name(of: $0.id) } }

    private static func name(of sender: String) -> String { "guest-\(sender.prefix(4))" }

    static func forgetting(_ person: ForgottenPerson) -> Action? {
        .forget(names: person.senders.map { name(of: $0) }.sorted())
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) {
        switch action {
        case .forget(let names): turn.dispatch(.forgotten(names: names))
        }
    }

    private func check(_ text: String) throws(Refusal) {
        // Scalars, since a character may have any number of them.
        guard text.unicodeScalars.count <= Self.textLimit else {
            throw Refusal(
                .invalid, code: "text-too-long", "An item has at most \(Self.textLimit) characters.", pointer: "/text")
        }
        guard text.contains(where: { !$0.isWhitespace }) else {
            throw Refusal(.invalid, code: "text-empty", "An item needs a text.", pointer: "/text")
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .added(let text, let name):
            state.added += 1
            state.items.append(Item(id: state.added, text: text, addedBy: name))
        case .checked(let id, let name):
            if let index = state.items.firstIndex(where: { $0.id == id }) { state.items[index].checkedBy = name }
        case .forgotten(let names):
            for index in state.items.indices {
                if names.contains(state.items[index].addedBy) { state.items[index].addedBy = "someone" }
                if let name = state.items[index].checkedBy, names.contains(name) {
                    state.items[index].checkedBy = "someone"
                }
            }
        case .removed(let ids): state.items.removeAll { ids.contains($0.id) }
        }
    }
}
