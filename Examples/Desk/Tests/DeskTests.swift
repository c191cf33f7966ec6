import Foundation
import MVI
import MVIServer
import MVIServerTesting
import MVITesting
import SQLite
import Testing

@testable import desk

extension Principal {
    static let ann = Principal(issuer: "test", subject: "ann")
    static let bob = Principal(issuer: "test", subject: "bob")
    static let kim = Principal(issuer: "test", subject: "kim")
}

/// The key of a ticket that Ann opens.
let door = "5f0c2b1e-7d3a-4c7e-9a55-0a4d2b6f1c01"

@Suite("The desk, over HTTP", .timeLimit(.minutes(10)))
struct DeskTests {
    private struct Row: Equatable { let ticket, receiver, text: String }

    private static func rows(_ connection: inout Connection) throws -> [Row] {
        try connection.query("SELECT ticket, receiver, text FROM mails ORDER BY rowid") { row in
            Row(ticket: try row.text(0), receiver: try row.text(1), text: try row.text(2))
        }
    }

    /// Runs a test on a desk whose staff is Kim.
    private func run(
        _ test: (TestServer, SessionDirectory, Mails) async throws -> Void
    ) async throws {
        let (mails, directory) = (try Mails(.memory), Collected<SessionDirectory>())
        try await TestServer.run { _ in
            FeatureServer(services: [mails]) { sessions in
                let _ = directory.append(sessions)
                Desk.features(staff: ["kim"], mails)
            }
        } test: { server in
            try await test(server, directory.all[0], mails)
        }
    }

    @Test func `customer and staff share a ticket live, also after a restart, and the mail program gets the mails`()
        async throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: "desk-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var desk = Desk()
        (desk.outbox, desk.staff, desk.isForDevelopment) = ("\(folder)/outbox.sqlite", "kim,lee", true)
        func mails() throws -> [String] {
            var connection = try Connection(.file("\(folder)/outbox.sqlite"))
            return try Self.rows(&connection).map { "\($0.receiver): \($0.text)" }
        }
        try await TestServer.run(desk, storage: .temporaryFolder) { server in
            let (ann, kim, bob) = (
                try await server.client(as: .ann), try await server.client(identity: "kim"),
                try await server.client(as: .bob)
            )
            let (anns, kims, bobs) = (
                ann.store(Ticket.self, key: door), kim.store(Ticket.self, key: door),
                bob.store(Ticket.self, key: door)
            )
            let list = try await kim.store(Tickets.self).events()
            let annsList = try await ann.store(Tickets.self).events()
            try await anns.send(.open(title: "The door squeaks"))
            try await list.state(of: kim.store(Tickets.self)) {
                $0.isStaff && $0.items.map(\.title) == ["The door squeaks"]
            }
            #expect(try await list.label(of: kim.store(Tickets.self)) == .changed(id: door))

            let events = try await anns.events()
            let theirs = try await kims.events()
            #expect(try await events.event("presence").contains(#""viewers":["ann"]"#))
            // Changes of those who look are shown once a second.
            await server.advance(by: .seconds(1))
            let both = try await events.event("presence")
            #expect(both.contains(#""count":2"#) && both.contains(#""kim""#), "\(both)")
            try await kims.send(.note(text: "Again!"))
            try await kims.send(.comment(text: "Oil helps."))
            try await events.state(of: anns) { $0.entries.map(\.intent).contains(.comment(text: "Oil helps.")) }
            #expect(try await anns.state().entries.map(\.intent).contains(.note(text: "Again!")) == false)
            try await theirs.state(of: kims) { $0.entries.count == 3 }
            #expect(try await annsList.label(of: ann.store(Tickets.self)) == .changed(id: door))

            #expect(try await bobs.state() == Ticket.State())
            #expect(try await bob.store(Tickets.self).state().items.isEmpty)
            try await bobs.sendRejected(.comment(text: "Me too"), status: 404, code: "no-such-ticket")
            #expect(try await bob.store(Ticket.self, key: "1").read().status == 404)
            #expect(try await server.client().store(Tickets.self).read().status == 403)
            #expect(try await kim.store(Outbox.self).read().status == 403)

            await server.advance(by: .zero)
            try await server.restart()
            #expect(try mails().contains("staff: The door squeaks: open"))
            let again = try await anns.events()
            try await again.state(of: anns) { $0.ticket?.title == "The door squeaks" && $0.entries.count == 2 }
            try await kims.send(.close)
            try await again.state(of: anns) { $0.ticket?.isOpen == false }
            try await anns.sendRejected(.comment(text: "Thanks"), status: 409, code: "ticket-is-closed")
            await server.advance(by: .seconds(61))
        }
        #expect(
            try mails() == [
                "staff: The door squeaks: open", "ann: The door squeaks: Oil helps.", "ann: The door squeaks: closed",
            ])
    }

    @Test func `a full list gets the ticket that it refused an hour after there is room`() async throws {
        try await run { server, sessions, _ in
            func change(_ number: Int, isOpen: Bool) async throws {
                let item = Tickets.Item(
                    id: "\(number)", title: "Old", customer: Principal.bob.identity, isOpen: isOpen,
                    changed: .testStart - .seconds(number))
                try await sessions.perform(.changed(item, by: nil), on: Tickets.self, in: .shared())
            }
            for number in 1...Tickets.limit { try await change(number, isOpen: true) }
            let ann = try await server.client(as: .ann)
            try await ann.store(Ticket.self, key: door).send(.open(title: "The door squeaks"))
            await server.advance(by: .zero)
            try await change(7, isOpen: false)
            #expect(try await ann.store(Tickets.self).state().items.isEmpty)

            await server.advance(by: .seconds(3_601))
            #expect(try await ann.store(Tickets.self).state().items.map(\.id) == [door])
            let all = try await server.client(as: .kim).store(Tickets.self).state()
            #expect(all.count == Tickets.limit && all.items.map(\.id).contains(door))
        }
    }

    @Test func `of a customer who is forgotten no ticket stays, and of staff no name`() async throws {
        try await run { server, sessions, mails in
            let (ann, kim) = (try await server.client(as: .ann), try await server.client(as: .kim))
            let lee = "5f0c2b1e-7d3a-4c7e-9a55-0a4d2b6f1c02"
            let bob = try await server.client(as: .bob)
            try await bob.store(Ticket.self, key: lee).send(.open(title: "No light"))
            try await ann.store(Ticket.self, key: door).send(.open(title: "The door squeaks"))
            for key in [door, lee] { try await kim.store(Ticket.self, key: key).send(.comment(text: "I look.")) }
            await server.advance(by: .zero)
            let events = try await kim.store(Tickets.self).events()
            try await events.state(of: kim.store(Tickets.self)) { $0.items.map(\.id).contains(door) && $0.count == 2 }

            try await sessions.forget(subject: Principal.ann.identity)
            try await events.state(of: kim.store(Tickets.self)) { $0.items.map(\.id) == [lee] }
            #expect(try await kim.store(Ticket.self, key: door).state() == Ticket.State())
            await server.advance(by: .seconds(61))
            #expect(try await mails.thread.perform { try Self.rows(&$0) }.map(\.ticket) == [lee, lee])

            try await sessions.forget(subject: Principal.kim.identity)
            let entries = try await bob.store(Ticket.self, key: lee).state().entries
            #expect(entries.map { $0.author?.id } == ["bob", nil])
        }
    }
}
