import MVI
import MVITesting
import Testing

@Suite("A store under test in its session", .timeLimit(.minutes(10)))
struct TestStoreSessionTests {
    // MARK: Other stores

    @Test("53, 58: a turn reads another store and sends to it, and the test sees both")
    func others() async {
        let store = TestStore(Till(), others: [OtherStore(Trolley(), state: Trolley.State(items: 3))])
        #expect(store.view(of: Trolley.self) == "3 items" && store.state(of: Trolley.self)?.items == 3)
        await store.send(.order(key: nil)) { $0.orders = ["3 items"] }
        await store.expectSent(.empty, to: Trolley.self)
        #expect(store.view(of: Trolley.self) == "0 items" && store.state(of: Trolley.self) == Trolley.State())
        // What the test sends itself is not what the feature sent.
        await store.send(.put(items: 5), to: Trolley.self)
        await store.send(.order(key: nil)) { $0.orders.append("5 items") }
        await store.expectSent(.empty, to: Trolley.self)
        await store.finish()
    }

    @Test("53, 58: stores of keys are there one by one or for every key, and are made when they are needed")
    func keyed() async {
        let store = TestStore(
            Till(),
            others: [
                OtherStore(Trolley(), key: "a", state: Trolley.State(items: 1)),
                OtherStore(keyed: { key in key == "none" ? nil : Trolley() }),
            ])
        #expect(store.state(of: Trolley.self, key: "b") == nil)
        for (key, items) in [("a", 1), ("b", 0)] {
            await store.send(.order(key: key)) { $0.orders.append("\(items) items") }
            await store.expectSent(.empty, to: Trolley.self, key: key)
        }
        #expect(store.state(of: Trolley.self, key: "b") == Trolley.State())
        await store.sendRejected(.order(key: "none"))
        await store.finish()
    }

    @Test("53, 58: intents to other stores that the test does not state, or states otherwise, fail it")
    func unexpectedIntents() async {
        let texts = await failures {
            let store = TestStore(Till(), others: [OtherStore(Trolley())])
            await store.send(.order(key: nil)) { $0.orders = ["0 items"] }
            await store.expectSent(.put(items: 1), to: Trolley.self)
            await store.expectSent(.empty, to: Trolley.self)
            await store.send(.order(key: nil)) { $0.orders.append("0 items") }
            await store.finish()
        }
        #expect(
            texts == [
                """
                Something else was sent than expected (- expected, + sent):
                  - .put(items: 1) to trolley
                  + .empty to trolley
                """,
                "Expected that .empty to trolley is sent, but it was not. No work runs.",
                "1 intent or action to another store was not expected by the test:\n  .empty to trolley",
            ])
    }

    @Test("53, 58: nothing of a chain that is undone is received, and a throw in another store is not a second failure")
    func undoneChain() async {
        let store = TestStore(Till(), others: [OtherStore(Trolley())])
        await store.sendRejected(.send(.refuse), .conflict)
        await store.sendRejected(.send(.jam))
        #expect(store.state == Till.State())
        await store.finish()
    }

    @Test("53, 58: another store that the test does not have fails it, and the text says what to give")
    func missingOther() async {
        let texts = await failures {
            let store = TestStore(Till())
            await store.send(.order(key: nil))
            await store.finish()
        }
        #expect(texts.count == 1)
        #expect(texts.first?.hasPrefix("The intent .order(key: nil) was rejected: featureNotFound, ") == true)
        #expect(texts.first?.hasSuffix("If the feature uses another store, add it: `others: [OtherStore(…)]`.") == true)
    }

    @Test("53: work of another store neither holds up the end of the test nor fails it; an intent that it rejects does")
    func otherWork() async {
        let store = TestStore(Till(), others: [OtherStore(Counter())], timeout: .seconds(3_600))
        await store.send(.tick, to: Counter.self)
        await store.advance(by: .seconds(3))
        #expect(store.state(of: Counter.self)?.count == 3)
        await store.finish()
        let texts = await failures {
            let store = TestStore(Till(), others: [OtherStore(Counter())])
            await store.send(.fail, to: Counter.self)
            await store.finish()
        }
        #expect(texts == ["The intent .fail to counter was rejected: Broken()."])
    }

    // MARK: Reminders

    @Test("53, 60: reminders that are set can be looked at, fire when they are due, and are gone then")
    func reminders() async {
        let store = TestStore(Till())
        await store.send(.remind(seconds: 3_600))
        #expect(
            store.reminders == [
                SetReminder(id: "bell", due: .testStart + .seconds(3_600), action: Till.Action.ring(times: 2))
            ])
        await store.advance(by: .seconds(3_599))
        await store.advance(by: .seconds(1))
        await store.receive(.rang(times: 2)) { $0.rings = 2 }
        await store.receive(action: .ring(times: 2))
        #expect(store.reminders.isEmpty)
        await store.send(.remind(seconds: 1))
        await store.send(.hush)
        await store.advance(by: .seconds(10))
        await store.finish()
    }

    @Test("53, 60: a reminder fires while the store is not in memory: it comes back, and performs the action")
    func reminderOfPassiveStore() async {
        let store = TestStore(Till())
        await store.send(.remind(seconds: 86_400 * 20))
        await store.passivate()
        #expect(!store.isInMemory)
        await store.advance(by: .seconds(86_400 * 30))
        await store.receive(.returned) { $0.returns = 1 }
        await store.receive(.rang(times: 2)) { $0.rings = 2 }
        #expect(store.isInMemory)
        await store.finish()
    }

    @Test("53, 60: a reminder whose action throws is tried five times, later each time, and each throw is expected")
    func failingReminder() async {
        let store = TestStore(Till())
        await store.send(.fail)
        await store.advance(by: .seconds(60))
        for _ in 1...5 { #expect(await store.expectFailure()?.error is Till.Silent) }
        #expect(store.reminders.isEmpty)
        await store.finish()
    }

    // MARK: Commits

    @Test("49, 53: commits fail while the test wants it so, and nothing of a failed turn is received")
    func failedCommits() async {
        let store = TestStore(Till())
        store.failCommits(with: StoreError(.full, "The disk is full."))
        #expect(await store.sendRejected(.stamp(count: 1))?.code == .full)
        #expect(store.state == Till.State())
        store.allowCommits()
        await store.send(.stamp(count: 1)) { $0.stamps = ["02 2026-01-01T00:00:00.000Z"] }
        await store.finish()
    }

    @Test("49, 53, 60: steps of work and reminders whose commit failed are tried again as time passes")
    func triedAgain() async {
        let gate = Gate()
        let store = TestStore(
            Counter(number: {
                try await gate.wait()
                return 7
            }))
        await store.send(.load) { $0.isLoading = true }
        store.failCommits()
        gate.open()
        await store.advance(by: .seconds(1))
        #expect(store.state.isLoading)
        store.allowCommits()
        await store.advance(by: .seconds(1))
        await store.receive(.loaded(7)) { $0 = Counter.State(count: 7) }
        await store.finish()

        let till = TestStore(Till())
        await till.send(.remind(seconds: 1))
        till.failCommits()
        await till.advance(by: .seconds(60))
        till.allowCommits()
        #expect(till.reminders.count == 1)
        await till.advance(by: .seconds(2))
        await till.receive(.rang(times: 2)) { $0.rings = 2 }
        await till.finish()
    }

    @Test("53: an intent that could not be committed fails the test with the journal's word")
    func failedCommitText() async {
        let texts = await failures {
            let store = TestStore(Till())
            store.failCommits()
            await store.send(.ring)
            await store.finish()
        }
        #expect(texts == ["The intent .ring was rejected: unavailable, The test lets commits fail."])
    }

    @Test("49, 53, 59: where another writer was first the turn runs again on its state, with the same time and UUIDs")
    func conflict() async {
        let store = TestStore(Till())
        await store.send(.stamp(count: 1)) { $0.stamps = ["01 2026-01-01T00:00:00.000Z"] }
        await store.changeElsewhere { $0.rings = 40 }
        #expect(store.state.rings == 0)
        await store.send(.stamp(count: 1))
        await store.receive(.stamped("00000000-0000-4000-8000-000000000002", at: .testStart)) {
            #expect($0.rings == 40)
            $0.stamps.append("02 2026-01-01T00:00:00.000Z")
        }
        #expect(store.state.rings == 40)
        await store.finish()
    }

    @Test(
        "49, 53: two changes of another writer before a turn are one conflict, and the store it changed may be passive")
    func conflictOfPassiveStore() async {
        let store = TestStore(Till(), state: Till.State())
        await store.receive(.returned) { $0.returns = 1 }
        for _ in 1...2 { await store.changeElsewhere { $0.rings += 20 } }
        await store.passivate()
        await store.send(.load)
        store.exhaustive(false)
        await store.receive(.rang(times: 10))
        #expect(store.state.rings == 51)
        await store.finish()
    }

    // MARK: Memory

    @Test("52, 53: a store that leaves memory comes back with its state from JSON and a bootstrap that is told so")
    func passivation() async {
        let store = TestStore(Till())
        await store.send(.stamp(count: 1)) { $0.stamps = ["01 2026-01-01T00:00:00.000Z"] }
        let state = store.state
        await store.passivate()
        #expect(!store.isInMemory && store.state == state && store.view == state)
        await store.send(.ring)
        await store.receive(.returned) { $0.returns = 1 }
        await store.receive(.rang(times: 1)) { $0.rings = 1 }
        await store.receive(.rang(times: 2)) { $0.rings = 3 }
        await store.passivate()
        await store.comeBack()
        await store.receive(.returned) { $0.returns = 2 }
        await store.finish()
    }

    @Test("52, 53: a store that something keeps in memory fails the test, which says what")
    func keptInMemory() async {
        let texts = await failures {
            let store = TestStore(Till())
            await store.send(.wait)
            await store.passivate()
            await store.send(.callOff)
            await store.beginWatching()
            await store.passivate()
            await store.endWatching()
            await store.send(.watch)
            await store.passivate()
            store.failCommits()
            await store.sendRejected(.ring)
            await store.finish()
        }
        #expect(
            texts == [
                "The store cannot leave memory: work runs: wait.",
                "The store cannot leave memory: it is watched.",
                "The store cannot leave memory: work is registered for watchers that bootstrap does not register again.",
            ])
    }

    // MARK: Watching, the end

    @Test("39, 53: work for watchers runs while the test watches, and for its grace period after")
    func watching() async {
        let store = TestStore(Till())
        await store.send(.watch)
        #expect(store.workInProgress.isEmpty)
        await store.beginWatching()
        await store.receive(.rang(times: 1)) { $0.rings = 1 }
        #expect(store.workInProgress == ["look"])
        await store.beginWatching()
        await store.endWatching()
        await store.advance(by: .seconds(6))
        #expect(store.workInProgress == ["look"])
        await store.endWatching()
        await store.advance(by: .seconds(4))
        #expect(store.workInProgress == ["look"])
        await store.advance(by: .seconds(1))
        #expect(store.workInProgress.isEmpty)
        await store.finish()
        let texts = await failures {
            let store = TestStore(Till())
            await store.endWatching()
            await store.finish()
        }
        #expect(texts == ["No client watches the store."])
    }

    @Test("32, 53: a store that is disposed of ends its work, and the next touch makes a new one")
    func disposal() async {
        let store = TestStore(Till())
        await store.send(.ring) { $0.rings = 3 }
        await store.send(.wait)
        await store.dispose()
        #expect(store.state == Till.State() && store.workInProgress.isEmpty)
        await store.send(.ring) { $0.rings = 3 }
        await store.finish()
        #expect(store.state.rings == 3)
    }
}
