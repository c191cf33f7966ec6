import MVI
import MVIServerTesting
import MVITesting
import Testing

@testable import NewSharedServer

private let kim = Principal(subject: "kim", claims: ["role": "staff", "name": "Kim"])

@Suite struct WaitlistTests {
    let ann = TestCaller("ann", principal: Principal(subject: "ann"))
    let bob = TestCaller("bob")
    let staff = TestCaller("kim", principal: kim)

    /// Returns a store in which Ann and Bob wait.
    private func line() async -> TestStore<Waitlist> {
        let store = TestStore(Waitlist())
        for (number, caller, name) in [(1, ann, "Ann"), (2, bob, "Bob")] {
            await store.send(.join(name: name), as: caller) {
                $0.waiting.append(Waitlist.Party(number: number, name: name, guest: store.sender(caller).id))
                $0.lastNumber = number
            }
        }
        return store
    }

    @Test func `guests see their own place, staff see all`() async {
        let store = await line()
        #expect(
            store.views(of: ann, bob, TestCaller("cid"), staff) == [
                .waiting(number: 1, place: 1), .waiting(number: 2, place: 2), .outside,
                .staff(waiting: [.init(number: 1, name: "Ann"), .init(number: 2, name: "Bob")], called: []),
            ])
        await store.send(.leave, as: ann) { $0.waiting.removeFirst() }
        #expect(store.views(of: ann, bob) == [.outside, .waiting(number: 2, place: 1)])
        await store.finish()
    }

    @Test func `the called guest alone is told, and a call can be undone`() async {
        let store = await line()
        await store.send(.call, as: staff) { $0.called = [$0.waiting.removeFirst()] }
        await store.expect(.called(number: 1, by: "Kim"), to: ann)
        #expect(store.views(of: ann, bob) == [.called(number: 1), .waiting(number: 2, place: 1)])
        await store.send(.undo(number: 1), as: staff) { $0.waiting.insert($0.called.removeFirst(), at: 0) }
        #expect(store.views(of: ann, bob) == [.waiting(number: 1, place: 1), .waiting(number: 2, place: 2)])
        await store.sendRejected(.undo(number: 1), .notFound, code: "not-called", as: staff)
        await store.finish()
    }

    @Test func `only staff call and undo`() async {
        let store = await line()
        for intent in [Waitlist.Intent.call, .undo(number: 1)] {
            for guest in [ann, bob] { await store.sendRejected(intent, .forbidden, code: "staff-only", as: guest) }
        }
        await store.finish()
    }

    @Test func `a guest waits once, with a name`() async {
        let store = await line()
        await store.sendRejected(.join(name: "Bo"), .conflict, code: "already-waiting", as: bob)
        for name in ["", " \n", String(repeating: "e", count: 61)] {
            await store.sendRejected(.join(name: name), .invalid, pointers: ["/name"], as: staff)
        }
        await store.finish()
    }

    @Test func `a deleted person is not in the line any more, also if called`() async {
        let store = await line()
        store.exhaustive(false)
        await store.send(.call, as: staff)
        await store.forget(ann)
        #expect(store.state.called.isEmpty && store.state.waiting.map(\.name) == ["Bob"])
        await store.finish()
    }

    @Test func `every intent and label has an example`() { checkExamples(of: Waitlist.self) }

    @Test func `guests and staff share the line over HTTP`() async throws {
        var program = Server()
        program.jwt = .init(issuer: "test", audiences: ["test"], secret: .init(String(repeating: "s", count: 32)))
        try await TestServer.run(program) { server in
            let (guest, desk) = (try await server.client(), try await server.client(as: kim))
            let (line, all) = (guest.store(Waitlist.self), desk.store(Waitlist.self))
            let theirs = try await server.client().store(Waitlist.self)
            try await line.send(.join(name: "Ann"))
            try await theirs.send(.join(name: "Bob"))
            let (events, others, board) = (try await line.events(), try await theirs.events(), try await all.events())
            try await events.state(of: line) { $0 == .waiting(number: 1, place: 1) }
            try await others.state(of: theirs) { $0 == .waiting(number: 2, place: 2) }
            try await board.state(of: all) { $0 != .staff(waiting: [], called: []) }
            try await line.sendRejected(.call, status: 403, code: "staff-only")

            // Who is here is told once a second.
            await server.advance(by: .seconds(1))
            while try await !events.event("presence").contains(#""count":3,"viewers":["Kim"]"#) {}

            try await all.send(.call)
            #expect(try await events.label(of: line) == .called(number: 1, by: "Kim"))
            try await events.state(of: line) { $0 == .called(number: 1) }
            try await all.send(.call)
            // The first label of the other guest.
            #expect(try await others.label(of: theirs) == .called(number: 2, by: "Kim"))

            #expect(try await guest.request("DELETE", "/features/waitlist/state").status == 403)
            #expect(try await desk.request("DELETE", "/features/waitlist/state").status == 204)
            try await line.send(.join(name: "Ann"))
            #expect(try await all.state() == .staff(waiting: [.init(number: 1, name: "Ann")], called: []))
        }
    }

    @Test func `without an issuer of tokens the server does not start`() async {
        let error = await #expect(throws: (any Error).self) { try await TestServer.run(Server()) { _ in } }
        #expect(error.map { "\($0)" }?.hasPrefix("--jwt-issuer is missing") == true)
    }
}
