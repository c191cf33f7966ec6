import MVI
import MVITesting
import SQLite
import Testing

@testable import desk

@Suite("The desk's stores")
struct StoreTests {
    private let ann = TestCaller("ann's", principal: .ann)
    private let bob = TestCaller("bob's", principal: .bob)
    private let kim = TestCaller("kim's", principal: .kim)

    private func item(_ id: String, of customer: Principal = .ann, isOpen: Bool = true, at seconds: Int = 0)
        -> Tickets.Item
    {
        Tickets.Item(
            id: id, title: "The door squeaks", customer: customer.identity, isOpen: isOpen,
            changed: .testStart + .seconds(seconds))
    }

    private func ticket() -> TestStore<Ticket> { TestStore(Ticket(id: door, staff: ["kim"]), key: door) }

    @Test func `every intent and label has an example`() {
        checkExamples(of: Ticket.self)
        checkExamples(of: Tickets.self)
        checkExamples(of: Outbox.self)
    }

    // MARK: A ticket

    @Test func `the staff sees all of a ticket, its customer all but notes, and others nothing`() async {
        let store = ticket()
        await store.send(.open(title: "The door squeaks"), as: ann) {
            $0.ticket = item(door)
            $0.entries = [Ticket.Entry(intent: .open(title: "The door squeaks"), author: Principal.ann.identity)]
        }
        await store.advance(by: .seconds(5))
        await store.send(.note(text: "Again!"), as: kim) {
            $0.entries.append(Ticket.Entry(intent: .note(text: "Again!"), author: Principal.kim.identity))
        }
        await store.send(.comment(text: "Oil helps."), as: kim) {
            $0.entries.append(Ticket.Entry(intent: .comment(text: "Oil helps."), author: Principal.kim.identity))
            $0.ticket?.changed = .testStart + .seconds(5)
        }
        let views = store.views(of: kim, ann, bob)
        #expect(views[0] == store.state && views[0].entries.count == 3)
        #expect(views[1].entries.map(\.intent) == [.open(title: "The door squeaks"), .comment(text: "Oil helps.")])
        #expect(views[2] == Ticket.State())
        await store.finish()
    }

    @Test func `who looks at a ticket is shown by name`() {
        let feature = Ticket(id: door, staff: ["kim"])
        #expect([Principal.ann, .kim].map { feature.presence(of: Viewer(principal: $0)) } == ["ann", "kim"])
    }

    @Test func `a ticket refuses what others, customers and its condition may not do`() async {
        let store = ticket()
        store.exhaustive(false)
        await store.sendRejected(.comment(text: "Hello?"), .notFound, code: "no-such-ticket", as: ann)
        await store.sendRejected(.open(title: ""), .invalid, code: "no-title", pointers: ["/title"], as: ann)
        await store.send(.open(title: "The door squeaks"), as: ann)
        await store.sendRejected(.open(title: "Mine"), .conflict, code: "ticket-exists", as: bob)
        await store.sendRejected(.close, .notFound, code: "no-such-ticket", as: bob)
        await store.sendRejected(.note(text: "Me"), .forbidden, code: "not-staff", as: ann)
        await store.sendRejected(.reopen, .conflict, code: "ticket-is-open", as: ann)
        await store.sendRejected(
            .comment(text: String(repeating: "a", count: 2_001)), .invalid, code: "no-text", pointers: ["/text"],
            as: ann)
        await store.send(.close, as: kim)
        #expect(store.state.ticket?.isOpen == false)
        await store.sendRejected(.comment(text: "Thanks"), .conflict, code: "ticket-is-closed", as: ann)
        await store.sendRejected(.close, .conflict, code: "ticket-is-closed", as: ann)
        await store.send(.note(text: "Done."), as: kim)
        #expect(store.state.ticket?.isOpen == false)
        await store.send(.reopen, as: ann)
        #expect(store.state.ticket?.isOpen == true)
        await store.finish()
    }

    @Test func `a ticket keeps its 100 newest entries, and its store for good`() async {
        let store = ticket()
        store.exhaustive(false)
        await store.send(.open(title: "The door squeaks"), as: ann)
        for number in 1...100 { await store.send(.comment(text: "\(number)"), as: ann) }
        let newest: [Ticket.Intent] = (1...100).map { .comment(text: "\($0)") }
        #expect(store.state.entries.map(\.intent) == newest)
        let month: Duration = .seconds(30 * 24 * 3_600)
        #expect(store.reminders.map(\.due) == [Timestamp.testStart + month])
        await store.advance(by: .seconds(1))
        await store.perform(.tell(nil))
        #expect(store.reminders.map(\.due) == [Timestamp.testStart + .seconds(1) + month])
        await store.finish()
    }

    @Test func `what was not delivered is told again after an hour`() {
        #expect(
            Ticket.undelivered(
                UndeliveredMessage(Tickets.self, .changed(item(door), by: nil), reason: .refused)) == .tellLater(nil))
        let mail = Outbox.Action.mail(Outbox.Mail(id: "m1", ticket: door, to: "ann", text: "Oil helps."))
        #expect(Ticket.undelivered(UndeliveredMessage(Outbox.self, mail, reason: .failed)) == .tellLater(mail))
    }

    // MARK: The list

    @Test func `the staff sees all tickets, customers their own, and a change is told to the other side`() async {
        let store = TestStore(Tickets(staff: ["kim"]))
        await store.perform(.changed(item("a"), by: Principal.ann.identity))
        await store.receive(.changed(item("a"), by: Principal.ann.identity)) { $0.items = [item("a")] }
        _ = store.views(of: ann, bob, kim)
        await store.expect(.changed(id: "a"), to: kim)
        await store.perform(.changed(item("b", of: .bob, at: 1), by: Principal.kim.identity))
        await store.receive(.changed(item("b", of: .bob, at: 1), by: Principal.kim.identity)) {
            $0.items = [item("b", of: .bob, at: 1), item("a")]
        }
        await store.expect(.changed(id: "b"), to: bob)
        #expect(store.views(of: kim, ann, bob).map { $0.items.map(\.id) } == [["b", "a"], ["a"], ["b"]])
        #expect(store.views(of: kim, ann).map(\.isStaff) == [true, false])

        await store.perform(.changed(item("a", isOpen: false, at: 2), by: nil))
        await store.receive(.changed(item("a", isOpen: false, at: 2), by: nil)) {
            $0.items = [item("a", isOpen: false, at: 2), item("b", of: .bob, at: 1)]
        }
        await store.perform(.removed(id: "b"))
        await store.receive(.removed(id: "b")) { $0.items = [item("a", isOpen: false, at: 2)] }
        await store.finish()
    }

    @Test func `a full list drops the closed ticket that changed first, and shows the 50 newest`() async {
        let full = (1...Tickets.limit).map { item("\($0)", isOpen: $0 != 400, at: -$0) }
        let store = TestStore(Tickets(staff: ["kim"]), state: Tickets.State(items: full))
        store.exhaustive(false)
        await store.perform(.changed(item("new"), by: nil))
        #expect(store.state.items.map(\.id) == ["new"] + full.map(\.id).filter { $0 != "400" })
        #expect(store.view.items == Array(store.state.items.prefix(50)) && store.view.count == Tickets.limit)
        await store.finish()
    }

    // MARK: The outbox

    @Test func `each mail is written once and in order, again after a failure, and not for a deleted ticket`()
        async throws
    {
        let mails = try Mails(.memory)
        let store = TestStore(Outbox(mails: mails))
        store.exhaustive(false)
        func written() async throws -> [String] {
            try await mails.thread.perform { connection in
                try connection.query("SELECT text FROM mails ORDER BY rowid") { row in try row.text(0) }
            }
        }
        func mail(_ id: String, of ticket: String = "a") -> Outbox.Action {
            .mail(Outbox.Mail(id: id, ticket: ticket, to: "ann", text: id))
        }
        for action in [mail("1"), mail("2", of: "b"), mail("1")] {
            await store.perform(action)
            await store.receive(.done)
        }
        #expect(try await written() == ["1", "2"])

        try await mails.thread.perform { try $0.script("ALTER TABLE mails RENAME TO away") }
        await store.perform(mail("3"))
        // Its attempts run on the database's thread, which knows no time of tests.
        for _ in 0..<50 {
            try await mails.thread.perform { _ in }
            await store.advance(by: .seconds(1))
        }
        await store.expectFailure()
        #expect(store.state.jobs == [mail("3")])
        try await mails.thread.perform { try $0.script("ALTER TABLE away RENAME TO mails") }
        await store.passivate()
        await store.advance(by: .seconds(20))
        await store.receive(.done)
        #expect(try await written() == ["1", "2", "3"])

        await store.perform(.forget(ticket: "a"))
        await store.receive(.done)
        #expect(try await written() == ["2"])
        await store.finish()
        await mails.thread.close()
    }
}
