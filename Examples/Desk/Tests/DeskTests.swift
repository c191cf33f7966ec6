import Logging
import MVI
import MVIServer
import MVIServerTesting
import MVITesting
import SQLite
import Testing

@testable import desk

extension Principal {
    fileprivate static let ann = Principal(issuer: "test", subject: "ann")
    fileprivate static let bob = Principal(issuer: "test", subject: "bob")
    fileprivate static let kim = Principal(issuer: "test", subject: "kim")
}

@Suite("The desk, over HTTP", .timeLimit(.minutes(10)))
struct DeskTests {
    /// Runs a test on a desk in memory whose staff is Kim.
    private func run(
        _ desk: Desk? = nil, settings: ServerSettings? = nil,
        sending send: @escaping @Sendable (Desk.Mail) async throws -> Void = { _ in },
        _ test: (TestServer, Desk) async throws -> Void
    ) async throws {
        let desk = try desk ?? Desk(.memory, staff: ["kim"])
        try await TestServer.run { server in
            FeatureServer(
                settings: settings, page: desk.page,
                services: [Outbox(desk: desk, logger: Logger(label: "test"), send: send)],
                onForget: { try await desk.forget($0.id) }
            ) { desk.features }
        } test: { server in
            try await test(server, desk)
        }
    }

    @Test func `customers and staff see each other's comments at once, and nobody else does`() async throws {
        try await run { server, _ in
            let (ann, kim, bob) = (
                try await server.client(as: .ann), try await server.client(as: .kim), try await server.client(as: .bob)
            )
            let kims = try await kim.store(Tickets.self).events()
            try await ann.store(Tickets.self).send(.open(title: "The door squeaks"))
            try await kims.state(of: kim.store(Tickets.self)) { $0.list.tickets.map(\.title) == ["The door squeaks"] }

            let (anns, theirs) = (ann.store(Ticket.self, key: "1"), kim.store(Ticket.self, key: "1"))
            let events = try await anns.events()
            try await theirs.send(.comment(text: "Oil helps."))
            try await events.state(of: anns) { $0.rows.map(\.entry.text) == ["Oil helps."] && !$0.rows[0].isPending }
            try await theirs.send(.close)
            try await events.state(of: anns) { $0.ticket?.isOpen == false }
            try await anns.sendRejected(.comment(text: "Thanks"), status: 409, code: "ticket-is-closed")

            let bobs = bob.store(Ticket.self, key: "1")
            try await bobs.sendRejected(.comment(text: "Me too"), status: 404, code: "no-such-ticket")
            let missing = try await bobs.events()
            try await missing.state(of: bobs) { $0.isMissing && $0.rows.isEmpty }
            #expect(try await server.client().store(Tickets.self).read().status == 403)
        }
    }

    @Test func `each mail is sent, again after a failure, and noted`() async throws {
        let sent = Collected<String>()
        struct Failure: Error {}
        try await run(
            sending: { mail in
                sent.append("\(mail.receiver): \(mail.text)")
                if sent.all.count == 1 { throw Failure() }
            }
        ) { server, _ in
            let (ann, kim) = (try await server.client(as: .ann), try await server.client(as: .kim))
            try await ann.store(Tickets.self).send(.open(title: "The door squeaks"))
            try await kim.store(Ticket.self, key: "1").send(.comment(text: "Oil helps."))
            try await ann.store(Ticket.self, key: "1").send(.comment(text: "It does."))
            #expect(
                await sent.atLeast(3)
                    == ["ann: Ticket 1: Oil helps.", "ann: Ticket 1: Oil helps.", "staff: Ticket 1: It does."])
        }
    }

    @Test func `a comment is never gone between its writing and the next state, and an older result changes nothing`()
        throws
    {
        let entries = (1...2).map { Desk.Entry(id: "e\($0)", author: "ann", kind: .comment, text: "\($0)") }
        let summary = Desk.Summary(id: 1, title: "The door squeaks", customer: "ann", isOpen: true)
        let (older, newer) = (
            Desk.Content(ticket: summary, entries: [entries[0]], number: 1),
            Desk.Content(ticket: summary, entries: entries, number: 2)
        )
        let ticket = Ticket(id: 1, desk: try Desk(.memory, staff: []))
        for order in [
            [Ticket.Message.read(newer), .written(id: "e1", older)], [.written(id: "e1", older), .read(newer)],
        ] {
            var state = Ticket.State(pending: [entries[0]])
            for message in order {
                ticket.reduce(&state, message)
                #expect(ticket.view(state).rows.contains { $0.entry.id == "e1" })
            }
            #expect(ticket.view(state).rows.map(\.entry) == entries)
        }
    }

    @Test func `what was pending when the server ended is stored once by the next one`() async throws {
        let desk = try Desk(.memory, staff: ["kim"])
        // The first commit only, as before a crash; then the second one, twice.
        let pending = Desk.Entry(id: "e1", author: "ann", kind: .comment, text: "Hello?")
        let number = try await desk.open("The door squeaks", by: "ann", request: "r1")
        #expect(try await desk.open("The door squeaks", by: "ann", request: "r1") == number)
        let store = TestStore(
            Ticket(id: number, desk: desk), state: Ticket.State(pending: [pending]),
            principal: .ann, exhaustive: false)
        let content = Desk.Content(
            ticket: Desk.Summary(id: number, title: "The door squeaks", customer: "ann", isOpen: true),
            entries: [pending], number: 1)
        await store.receive(.written(id: pending.id, content)) { ($0.pending, $0.content) = ([], content) }
        await store.finish()
        #expect(try await desk.add(pending, to: number) == content)
        for try await content in await desk.ticket(number, for: "ann") {
            #expect(content?.entries == [pending])
            break
        }
        await desk.close()
    }

    @Test func `a customer who is forgotten leaves no tickets`() async throws {
        try await run { server, desk in
            let ann = try await server.client(as: .ann)
            try await ann.store(Tickets.self).send(.open(title: "The door squeaks"))
            try await ann.store(Ticket.self, key: "1").send(.comment(text: "Hello?"))
            try await desk.forget("ann")
            for try await list in await desk.tickets(of: "kim") {
                #expect(list == Desk.List())
                break
            }
        }
    }

    @Test func `more tickets than stores: the list is live, old ones come back, and those beyond wait a day`()
        async throws
    {
        var settings = ServerSettings()
        settings.maxStoresPerSession = 100
        try await run(settings: settings) { server, _ in
            let ann = try await server.client(as: .ann)
            let list = ann.store(Tickets.self)
            let events = try await list.events()
            for number in 1...110 {
                try await list.send(.open(title: "Ticket \(number)"))
                let ticket = ann.store(Ticket.self, key: "\(number)")
                // The list is one of the session's stores.
                if number < 100 {
                    try await ticket.send(.comment(text: "Comment \(number)"))
                } else {
                    try await ticket.sendRejected(.comment(text: "Comment \(number)"), status: 409)
                }
                // A session sends at most 100 intents a second.
                if number % 50 == 0 { await server.advance(by: .seconds(1)) }
                if number % 10 == 0 { try await events.state(of: list) { $0.list.count == number } }
            }
            func expectComment(in number: Int) async throws {
                let ticket = ann.store(Ticket.self, key: "\(number)")
                let events = try await ticket.events()
                try await events.state(of: ticket) { $0.rows.map(\.entry.text) == ["Comment \(number)"] }
            }
            for number in [1, 2, 50, 99] { try await expectComment(in: number) }
            await server.advance(by: .seconds(25 * 3_600))
            try await ann.store(Ticket.self, key: "110").send(.comment(text: "Comment 110"))
            for number in [1, 110] { try await expectComment(in: number) }
        }
    }
}
