import MVI
import MVIServer
import MVIServerTesting
import MVITesting
import Testing

@Suite("Shared stores of a server", .timeLimit(.minutes(5)))
struct SharedStoreTests {
    private let ann = Principal(subject: "ann", claims: ["role": "host"])

    private func run(
        _ storage: TestServer.Storage = .memory, _ test: (TestServer) async throws -> Void
    ) async throws {
        try await TestServer.run(storage: storage) { _ in
            FeatureServer {
                Seat()
                Shared { Board() }.allows(.everyone)
                Shared(examples: ["tea"]) { key in key == "none" ? nil : Shelf(key: key) }
                    .allows { who, key, access in
                        access == .read || who?.claim("role") == "host" || key == "open" && access == .send
                    }
                Shared("vault", existing: true) { key in Vault(key: key) }.allows(.everyone)
                Endpoint(.post, "/open/{key}") { request, sessions in
                    try await sessions.send(
                        .fill, to: Vault.self, in: .shared(request.parameter), once: "opening")
                    return .noContent
                }
                Shared("inn") { key in
                    Kitchen(table: key)
                    Bar(table: key)
                }.allows(.everyone)
                Shared("hall") {
                    Stage()
                    Lights()
                }.allows(.everyone)
                Endpoint(.get, "/now") { request, _ in .text(request.now.description) }
            }
        } test: { server in
            try await test(server)
        }
    }

    @Test(arguments: [TestServer.Storage.memory, .temporaryFolder])
    func `two clients have one store, which a restart brings back`(storage: TestServer.Storage) async throws {
        try await run(storage) { server in
            let (one, two) = (try await server.client(), try await server.client(credential: .cookie))
            let (mine, theirs) = (one.store(Board.self), two.store(Board.self))
            let events = try await two.events(of: "board", "seat")
            try await events.state(of: theirs)
            try await mine.send(.pin(note: "hello"))
            try await events.state(of: theirs) { $0.notes == ["hello"] }
            #expect(try await events.label(of: theirs) == .pinned)
            try await server.restart()
            #expect(try await theirs.state().notes == ["hello"])
            try await theirs.send(.pin(note: "again"))
            #expect(try await mine.state().notes == ["hello", "again"])
        }
    }

    @Test func `a rule judges guests and users, and an unknown key is not found`() async throws {
        try await run { server in
            let guest = try await server.client()
            let host = try await server.client(as: ann)
            #expect(try await guest.store(Shelf.self, key: "tea").state().key == "tea")
            try await guest.store(Shelf.self, key: "tea").sendRejected(.fill, status: 403)
            try await host.store(Shelf.self, key: "tea").send(.fill)
            try await guest.store(Shelf.self, key: "open").send(.fill)
            #expect(try await guest.store(Shelf.self, key: "tea").state().isFull)
            #expect(try await guest.request("GET", "/features/shelf:none/state").status == 404)
            #expect(try await guest.request("GET", "/features/shelf:none/events").status == 404)
            // Only a rule lets somebody dispose of what all share.
            #expect(try await guest.request("DELETE", "/features/board/state").status == 403)
            #expect(try await guest.request("DELETE", "/features/shelf:tea/state").status == 403)
            #expect(try await host.request("DELETE", "/features/shelf:tea/state").status == 204)
            #expect(try await guest.store(Shelf.self, key: "tea").state().isFull == false)
        }
    }

    @Test func `only the server's own code makes a store that has to exist, once for each name`() async throws {
        try await run { server in
            let client = try await server.client()
            let vault = client.store(Vault.self, key: "a")
            #expect(try await vault.read().status == 404)
            try await vault.sendRejected(.fill, status: 404)
            #expect(try await client.request("GET", "/features/vault:a/events").status == 404)
            for _ in 0..<2 { #expect(try await server.request("POST", "/open/a").status == 204) }
            #expect(try await vault.state().fills == 1)
        }
    }

    @Test func `a session makes 32 shared stores an hour`() async throws {
        try await run { server in
            let client = try await server.client()
            for number in 0..<32 { _ = try await client.store(Shelf.self, key: "\(number)").state() }
            let answer = try await client.request("GET", "/features/shelf:33/state")
            #expect(answer.status == 429 && answer.fields["retry-after"] != nil)
            #expect(try await client.request("GET", "/features/shelf:3/state").status == 200)
            #expect(try await server.client().store(Shelf.self, key: "33").state().key == "33")
        }
    }

    @Test func `the features of one space send each other intents, in one commit`() async throws {
        try await run { server in
            let client = try await server.client()
            let bar = client.store(Bar.self, key: "7")
            let events = try await client.events(of: "bar:7")
            try await events.state(of: bar)
            let before = server.commitCount
            try await client.store(Kitchen.self, key: "7").send(.serve(dish: "soup"))
            try await events.state(of: bar) { $0.tab == ["soup"] }
            #expect(server.commitCount == before + 1)
        }
    }

    @Test func `the features of one space without a key send each other intents, also after a restart`() async throws {
        try await run { server in
            let (one, two) = (try await server.client(), try await server.client())
            for _ in 0..<2 {
                let before = server.commitCount
                try await one.store(Stage.self).send(.begin)
                #expect(server.commitCount == before + 1)
                try await server.restart()
            }
            #expect(try await two.store(Lights.self).state().level == 2)
        }
    }

    @Test func `a deleted user's part of a shared store is removed`() async throws {
        try await run { server in
            let host = try await server.client(as: ann)
            try await host.store(Board.self).send(.pin(note: "mine"))
            try await server.client().store(Board.self).send(.pin(note: "other"))
            let forgotten = try await server.forget(ann)
            #expect(forgotten.sessions == 1 && forgotten.spaces == 1)
            #expect(try await server.client().store(Board.self).state().notes == ["other"])
        }
    }

    @Test func `an endpoint has the time of the test`() async throws {
        try await run { server in
            for _ in 0..<2 {
                await server.advance(by: .seconds(3600))
                let answer = try await server.request("GET", "/now")
                #expect(answer.text == server.now.description)
            }
        }
    }

    @Test func `a client has a locale and a time zone, also after a restart of a server that stored nothing of it`()
        async throws
    {
        try await run { server in
            let guest = try await server.client(locale: "de-DE", timeZone: "Europe/Berlin")
            let user = try await server.client(as: ann, locale: "fr")
            for _ in 0..<2 {
                #expect(try await guest.store(Lights.self).state().greeting == "de-DE Europe/Berlin")
                #expect(try await user.store(Lights.self).state().greeting == "fr -")
                try await server.restart()
            }
        }
    }

    @Test func `a stream goes on where it was, in each log, and a number counts for each caller`() async throws {
        try await run { server in
            let (one, two) = (try await server.client(), try await server.client())
            let first = try await one.events(of: "board", "shelf:tea", "seat")
            let hello = try await first.event("hello")
            let cursor = try #require(hello.split(separator: "\"cursor\":\"").last?.split(separator: "\"").first)
            for client in [one, two] { try await client.store(Board.self).send(.pin(note: "a")) }
            let resumed = try await one.events(of: "board", "shelf:tea", "seat&last_event_id=\(cursor)")
            #expect(try await resumed.event("hello").contains(#""resumed":true"#))
            for _ in 0..<2 { #expect(try await resumed.label(of: one.store(Board.self)) == .pinned) }
            for client in [one, two] {
                let answer = try await client.request(
                    "POST", "/features/board/intents", body: #"{"type":"pin","note":"b"}"#,
                    fields: ["Content-Type": "application/json", "Intent-Seq": "1", "Intent-Epoch": "e"])
                #expect(answer.status == 202 && answer.text.contains(#""feature":"board""#))
                #expect(answer.fields["idempotency-replayed"] == nil)
            }
            #expect(try await one.store(Board.self).state().notes == ["a", "a", "b", "b"])
        }
    }

    @Test func `what one reads of the state is not the tag of another's session`() async throws {
        try await run { server in
            let (one, two) = (try await server.client(), try await server.client())
            try await one.store(Board.self).send(.pin(note: "a"))
            let answer = try await one.request("GET", "/features/board/state")
            let tag = try #require(answer.fields["etag"])
            #expect(try await two.request("GET", "/features/board/state", fields: ["If-None-Match": tag]).status == 304)
            let condition = [
                "Content-Type": "application/json", "If-Match": tag,
            ]
            let body = #"{"type":"pin","note":"b"}"#
            #expect(
                try await two.request("POST", "/features/board/intents", body: body, fields: condition).status == 202)
            #expect(
                try await one.request("POST", "/features/board/intents", body: body, fields: condition).status == 412)
        }
    }
}

private struct Board: Feature {
    struct State: Codable, Equatable, Sendable {
        var notes: [String] = []
        var authors: [String?] = []
    }
    enum Intent: Codable, Sendable { case pin(note: String) }
    enum Action: Codable, Sendable { case remove(Set<String>) }
    enum Label: Codable, Equatable, Sendable { case pinned }
    enum Message: Codable, Sendable { case pinned(String, by: String?), removed(Set<String>) }
    static let examples: [Intent] = [.pin(note: "a")]
    static let labelExamples: [Label] = [.pinned]
    static let summary = "Notes."
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        guard case .pin(let note) = intent else { return }
        turn.dispatch(.pinned(note, by: turn.sender?.id))
        turn.publish(.pinned)
    }
    static func forgetting(_ person: ForgottenPerson) -> Action? { .remove(person.senders) }
    func perform(_ action: Action, _ turn: inout Turn<Self>) {
        if case .remove(let senders) = action { turn.dispatch(.removed(senders)) }
    }
    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .pinned(let note, let author):
            state.notes.append(note)
            state.authors.append(author)
        case .removed(let senders):
            let kept = state.authors.indices.filter { state.authors[$0].map(senders.contains) != true }
            (state.notes, state.authors) = (kept.map { state.notes[$0] }, kept.map { state.authors[$0] })
        }
    }
}

private struct Shelf: Feature {
    struct State: Codable, Equatable, Sendable {
        var key: String
        var isFull = false
    }
    enum Intent: Codable, Sendable { case fill }
    static let examples: [Intent] = [.fill]
    static let summary = "A shelf."
    let key: String
    var initialState: State { State(key: key) }
    func reduce(_ state: inout State, _ intent: Intent) { state.isFull = true }
}

private struct Vault: Feature {
    struct State: Codable, Equatable, Sendable { var fills = 0 }
    enum Intent: Codable, Sendable { case fill }
    static let examples: [Intent] = [.fill]
    static let name = "vault"
    static let summary = "A vault."
    let key: String
    let initialState = State()
    func reduce(_ state: inout State, _ intent: Intent) { state.fills += 1 }
}

private struct Kitchen: Feature {
    struct State: Codable, Equatable, Sendable { var served = 0 }
    enum Intent: Codable, Sendable { case serve(dish: String) }
    enum Message: Codable, Sendable { case served }
    static let examples: [Intent] = [.serve(dish: "soup")]
    static let summary = "A kitchen."
    let table: String
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        guard case .serve(let dish) = intent else { return }
        turn.dispatch(.served)
        turn.send(.charge(dish: dish), to: Bar.self, key: table)
    }
    func reduce(_ state: inout State, _ message: Message) { state.served += 1 }
}

private struct Bar: Feature {
    struct State: Codable, Equatable, Sendable { var tab: [String] = [] }
    enum Intent: Codable, Sendable { case charge(dish: String) }
    static let examples: [Intent] = [.charge(dish: "soup")]
    static let summary = "A bar."
    let table: String
    let initialState = State()
    func reduce(_ state: inout State, _ intent: Intent) {
        if case .charge(let dish) = intent { state.tab.append(dish) }
    }
}

private struct Stage: Feature {
    struct State: Codable, Equatable, Sendable { var shows = 0 }
    enum Intent: Codable, Sendable { case begin }
    enum Message: Codable, Sendable { case begun }
    static let examples: [Intent] = [.begin]
    static let summary = "A stage."
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        turn.dispatch(.begun)
        turn.send(.brighten, to: Lights.self)
    }
    func reduce(_ state: inout State, _ message: Message) { state.shows += 1 }
}

/// Greets each client by its locale and time zone.
private struct Lights: Feature {
    struct State: Codable, Equatable, Sendable { var level = 0 }
    struct ViewState: Codable, Equatable, Sendable { var level: Int, greeting: String }
    enum Intent: Codable, Sendable { case brighten }
    static let examples: [Intent] = [.brighten]
    static let summary = "Lights."
    let initialState = State()

    func audience(of viewer: Viewer) -> String { "\(viewer.locale ?? "-") \(viewer.timeZone ?? "-")" }
    func view(_ state: State, for audience: String) -> ViewState { ViewState(level: state.level, greeting: audience) }
    func view(_ state: State) -> ViewState { view(state, for: "") }
    func reduce(_ state: inout State, _ intent: Intent) { state.level += 1 }
}
