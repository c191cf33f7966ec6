import MVI
import MVITesting
import Testing

@testable import desk

@Suite("What the desk's tickets tell")
struct ToldTests {
    private let ann = TestCaller("ann's", principal: .ann)
    private let kim = TestCaller("kim's", principal: .kim)
    private let item = Tickets.Item(
        id: door, title: "The door squeaks", customer: Principal.ann.identity, changed: .testStart)

    private func opened() async -> TestStore<Ticket> {
        let store = TestStore(Ticket(id: door, staff: ["kim"]), key: door, exhaustive: false)
        await store.send(.open(title: "The door squeaks"), as: ann)
        return store
    }

    @Test func `each change is told to the list and mailed to the other side, but no note`() async {
        let store = await opened()
        await store.send(.note(text: "Again!"), as: kim)
        await store.send(.comment(text: "Oil helps."), as: kim)
        #expect(
            store.told(Tickets.self) == [
                .changed(item, by: Principal.ann.identity), .changed(item, by: Principal.kim.identity),
            ])
        let mails = store.told(Outbox.self).compactMap { if case .mail(let mail) = $0 { mail } else { nil } }
        #expect(mails.map(\.to) == ["staff", "ann"])
        #expect(mails.map(\.text) == ["The door squeaks: open", "The door squeaks: Oil helps."])
        await store.finish()
    }

    @Test func `what the list did not run is told again after an hour`() async {
        let store = await opened()
        await store.undelivered(UndeliveredMessage(Tickets.self, .changed(item, by: nil), reason: .refused))
        await store.advance(by: .seconds(3_600))
        #expect(store.told(Tickets.self).last == .changed(item, by: nil))
        await store.finish()
    }

    @Test func `a forgotten customer's ticket leaves the list and the outbox`() async {
        let store = await opened()
        await store.forget(ann)
        #expect(store.state == Ticket.State())
        #expect(store.told(Tickets.self).last == .removed(id: door))
        #expect(store.told(Outbox.self).last == .forget(ticket: door))
        await store.finish()
    }
}
