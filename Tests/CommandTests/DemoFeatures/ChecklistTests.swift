import DemoFeatures
import Logging
import MVI
import MVIServer
import MVIServerTesting
import MVITesting
import Testing

@testable import DemoFeatures

@Suite(.timeLimit(.minutes(5))) struct ChecklistTests {
    private let ann = TestCaller("ann")
    private let bob = TestCaller("bob", principal: Principal(subject: "bob"))

    private func name(_ caller: TestCaller, in store: TestStore<Checklist>) -> String {
        "guest-\(store.sender(caller).id.prefix(4))"
    }

    @Test func `every intent and label has an example`() { checkExamples(of: Checklist.self) }

    @Test func `the list says who added and who checked an item, without telling who that is`() async {
        let store = TestStore(Checklist())
        let (first, second) = (name(ann, in: store), name(bob, in: store))
        #expect(first != second && !second.contains("bob"))
        await store.send(.add(text: "milk"), as: ann) {
            $0 = Checklist.State(items: [Checklist.Item(id: 1, text: "milk", addedBy: first)], added: 1)
        }
        await store.send(.check(id: 1, isDone: true), as: bob) { $0.items[0].checkedBy = second }
        // The first one has done it.
        await store.send(.check(id: 1, isDone: true), as: ann)
        await store.send(.check(id: 1, isDone: false), as: ann) { $0.items[0].checkedBy = nil }
        await store.send(.add(text: "tea")) {
            $0.items.append(Checklist.Item(id: 2, text: "tea", addedBy: "server"))
            $0.added = 2
        }
        await store.finish()
    }

    @Test func `the list forgets the name of a person, and keeps the items`() async {
        let store = TestStore(Checklist(), exhaustive: false)
        for caller in [ann, bob] { await store.send(.add(text: "milk"), as: caller) }
        await store.send(.check(id: 2, isDone: true), as: ann)
        await store.forget(ann)
        #expect(store.state.items.map(\.addedBy) == ["someone", name(bob, in: store)])
        #expect(store.state.items.map(\.checkedBy) == [nil, "someone"])
        await store.finish()
    }

    @Test func `what is done is cleared, with a label for all, and the rest stays`() async {
        let items = (1...3).map {
            Checklist.Item(id: $0, text: "item \($0)", addedBy: "guest-a", checkedBy: $0 == 2 ? nil : "guest-b")
        }
        let store = TestStore(Checklist(), state: Checklist.State(items: items, added: 3))
        await store.send(.clear, as: ann) { $0.items = [items[1]] }
        await store.expect(.cleared(count: 2, by: name(ann, in: store)))
        await store.send(.clear, as: ann)
        // Two clients may remove an item at once; an id is not used again.
        await store.send(.remove(id: 2), as: ann) { $0.items = [] }
        await store.send(.remove(id: 2), as: bob)
        await store.sendRejected(.check(id: 2, isDone: true), .notFound, code: "no-such-item", pointers: ["/id"])
        await store.send(.add(text: "last"), as: ann) {
            $0.items = [Checklist.Item(id: 4, text: "last", addedBy: name(ann, in: store))]
            $0.added = 4
        }
        await store.finish()
    }

    @Test(arguments: [
        ("", "text-empty"), (" \n", "text-empty"), (String(repeating: "a", count: 101), "text-too-long"),
        // One character.
        ("e" + String(repeating: "\u{301}", count: 100), "text-too-long"),
    ])
    func `an unusable text is refused`(text: String, code: String) async {
        let store = TestStore(Checklist())
        await store.sendRejected(.add(text: text), .invalid, code: code, pointers: ["/text"], as: ann)
        await store.finish()
    }

    @Test func `a list has at most 50 items`() async {
        let store = TestStore(Checklist(), exhaustive: false)
        for _ in 1...50 { await store.send(.add(text: String(repeating: "é", count: 100)), as: ann) }
        await store.sendRejected(.add(text: "tea"), .conflict, code: "list-full", as: bob)
        await store.send(.remove(id: 7), as: bob)
        await store.send(.add(text: "tea"), as: bob)
        #expect(store.state.items.count == 50)
        await store.finish()
    }

    @Test func `two clients of the demo share a list, which a restart keeps`() async throws {
        try await TestServer.run(storage: .temporaryFolder) { _ in
            let demo = try Demo(databasePath: nil, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            return FeatureServer(services: [demo]) { demo.features }
        } test: { server in
            let (one, two) = (try await server.client(), try await server.client(credential: .cookie))
            let (mine, theirs) = (
                one.store(Checklist.self, key: "party"), two.store(Checklist.self, key: "party")
            )
            let events = try await two.events(of: "checklist:party", "counter")
            try await events.state(of: theirs)
            try await mine.send(.add(text: "milk"))
            try await events.state(of: theirs) { $0.items.map(\.text) == ["milk"] }
            try await theirs.send(.check(id: 1, isDone: true))
            let item = try #require(try await mine.state().items.first)
            #expect(item.checkedBy?.hasPrefix("guest-") == true && item.checkedBy != item.addedBy)
            try await theirs.sendRejected(.add(text: " "), status: 422, code: "text-empty")
            try await server.restart()
            let resumed = try await two.events(of: "checklist:party", "counter")
            try await resumed.state(of: theirs) { $0.items == [item] }
            try await mine.send(.clear)
            #expect(try await resumed.label(of: theirs) == .cleared(count: 1, by: item.addedBy))
            #expect(try await one.store(Checklist.self, key: "other").state().items.isEmpty)
            #expect(try await one.request("DELETE", "/features/checklist:party/state").status == 403)
        }
    }
}
