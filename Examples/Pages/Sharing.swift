// snippet.hide
import MVI
import MVIServer

enum Sharing {
    struct Lobby: Feature {
        struct State: Codable, Equatable, Sendable { var isOpen = true, most = 0 }
        enum Intent: Codable, Sendable { case close }
        enum Action: Codable, Sendable { case crowd(Int) }
        enum Message: Codable, Sendable { case closed, most(Int) }
        static let examples: [Intent] = [.close]
        let initialState = State()

        // snippet.show
        func presence(of viewer: Viewer) -> String? { viewer.principal?.claim("name")?.string ?? "guest" }
        static func viewersChanged(_ viewers: Viewers<String>) -> Action? { .crowd(viewers.count) }
        // snippet.hide

        func execute(_ intent: Intent, _ turn: inout Turn<Self>) { turn.dispatch(.closed) }
        func perform(_ action: Action, _ turn: inout Turn<Self>) {
            if case .crowd(let count) = action, count > turn.state.most { turn.dispatch(.most(count)) }
        }
        func reduce(_ state: inout State, _ message: Message) {
            switch message {
            case .closed: state.isOpen = false
            case .most(let count): state.most = count
            }
        }
    }

    struct Visit: Feature {
        struct State: Codable, Equatable, Sendable { var isReady = false }
        typealias Intent = Never
        enum Action: Codable, Sendable { case ready }
        enum Message: Codable, Sendable { case ready }
        let initialState = State()
        func perform(_ action: Action, _ turn: inout Turn<Self>) { turn.dispatch(.ready) }
        func reduce(_ state: inout State, _ message: Message) { state.isReady = true }
    }

    struct Till: Feature {
        struct State: Codable, Equatable, Sendable { var lost = 0 }
        enum Intent: Codable, Sendable { case pay }
        enum Action: Codable, Sendable { case lost(Board.Action?, UndeliveredMessage.Reason) }
        enum Message: Codable, Sendable { case lost }
        static let examples: [Intent] = [.pay]
        let initialState = State()

        // snippet.show
        static func undelivered(_ message: UndeliveredMessage) -> Action? {
            .lost(message.action(of: Board.self), message.reason)
        }
        // snippet.hide

        func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
            guard let guest = turn.sender else { return }
            // snippet.show
            turn.tell(Board.self, .paid, key: "7")
            turn.tell(Visit.self, .ready, in: .session(guest.session))
            // snippet.hide
        }
        func perform(_ action: Action, _ turn: inout Turn<Self>) {
            if case .lost(.paid?, _) = action { turn.dispatch(.lost) }
        }
        func reduce(_ state: inout State, _ message: Message) { state.lost += 1 }
    }

    struct Kitchen: Feature {
        struct State: Codable, Equatable, Sendable { var isClosed = false }
        enum Intent: Codable, Sendable { case close }
        static let examples: [Intent] = [.close]
        let initialState = State()
        let inn: String
        func reduce(_ state: inout State, _ intent: Intent) { state.isClosed = true }
    }

    struct Bar: Feature {
        struct State: Codable, Equatable, Sendable { var isClosed = false }
        enum Intent: Codable, Sendable { case close }
        static let examples: [Intent] = [.close]
        let initialState = State()
        let inn: String
        func reduce(_ state: inout State, _ intent: Intent) { state.isClosed = true }
    }

    struct Menu: Feature {
        struct State: Codable, Equatable, Sendable { var soup = "Minestrone" }
        enum Intent: Codable, Sendable { case cook(soup: String) }
        static let examples: [Intent] = [.cook(soup: "Borscht")]
        let initialState = State()
        func view(_ state: State) -> String { view(state, for: false) }
        func reduce(_ state: inout State, _ intent: Intent) { if case .cook(let soup) = intent { state.soup = soup } }

        // snippet.show
        func audience(of viewer: Viewer) -> Bool { viewer.locale?.hasPrefix("de") == true }
        func view(_ state: State, for isGerman: Bool) -> String { (isGerman ? "Heute " : "Today: ") + state.soup }
        // snippet.hide
    }

    // snippet.show
    struct Board: Feature {
        struct Note: Codable, Equatable, Sendable { let text: String, author: String? }
        struct State: Codable, Equatable, Sendable { var notes: [Note] = [] }
        enum Intent: Codable, Sendable { case pin(text: String) }
        enum Action: Codable, Sendable { case paid, forget(authors: Set<String>) }
        enum Message: Codable, Sendable { case pinned(Note), forgotten(authors: Set<String>) }
        static let examples: [Intent] = [.pin(text: "hello")]
        let initialState = State()

        func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
            guard case .pin(let text) = intent else { return }
            turn.dispatch(.pinned(Note(text: text, author: turn.sender?.id)))
        }
        // snippet.hide
        func perform(_ action: Action, _ turn: inout Turn<Self>) {
            if case .forget(let authors) = action { turn.dispatch(.forgotten(authors: authors)) }
        }
        // snippet.show
        static func forgetting(_ person: ForgottenPerson) -> Action? { .forget(authors: person.senders) }
        func reduce(_ state: inout State, _ message: Message) {
            switch message {
            case .pinned(let note): state.notes.append(note)
            case .forgotten(let authors): state.notes.removeAll { authors.contains($0.author ?? "") }
            }
        }
    }

    struct Waitlist: Feature {
        struct Party: Codable, Equatable, Sendable { let name: String, guest: String? }
        struct State: Codable, Equatable, Sendable { var parties: [Party] = [] }
        // snippet.hide
        enum Intent: Codable, Sendable { case join(name: String), call }
        enum Message: Codable, Sendable { case joined(Party) }
        enum Label: Codable, Equatable, Sendable { case tableReady, called(name: String) }
        static let examples: [Intent] = [.join(name: "Ann"), .call]
        let initialState = State()
        func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
            switch intent {
            case .join(let name): turn.dispatch(.joined(Party(name: name, guest: turn.sender?.id)))
            case .call:
                guard let next = turn.state.parties.first else { return }
                // snippet.show
                turn.publish(.tableReady, to: .audience(.guest(next.guest)))
                turn.publish(.called(name: next.name), to: .sender)
            // snippet.hide
            }
        }
        func reduce(_ state: inout State, _ message: Message) {
            if case .joined(let party) = message { state.parties.append(party) }
        }

        // snippet.show
        struct ViewState: Codable, Equatable, Sendable { var place: Int?, parties: [String] = [] }
        enum Audience: Hashable, Codable, Sendable { case guest(String?), host }

        func audience(of viewer: Viewer) -> Audience {
            viewer.principal?.claim("role") == "host" ? .host : .guest(viewer.sender?.id)
        }
        func view(_ state: State, for audience: Audience) -> ViewState {
            switch audience {
            case .host: ViewState(parties: state.parties.map(\.name))
            case .guest(let id): ViewState(place: state.parties.firstIndex { $0.guest == id }.map { $0 + 1 })
            }
        }
        func view(_ state: State) -> ViewState { view(state, for: .host) }
    }

    func serve(_ boards: Set<String>) async throws {
        try await FeatureServer {
            Shared { Lobby() }.allows(.everyone)
            Shared { key in boards.contains(key) ? Board() : nil }
                .allows { who, key, access in access != .dispose || who?.claim("role") == "staff" }
            Shared("inn") { key in
                Kitchen(inn: key)
                Bar(inn: key)
            }.allows(.everyone)
            Endpoint(.post, "/paid/{key}") { request, sessions in
                try await sessions.perform(.paid, on: Board.self, in: .shared(request.parameter), once: "payment")
                return .noContent
            }
        }.run()
    }
    // snippet.hide
}
