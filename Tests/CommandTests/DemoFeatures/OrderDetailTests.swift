import MVI
import MVITesting
import Testing

@testable import DemoFeatures

@Suite struct OrderDetailTests {
    private static let loaded = OrderDetail.State(
        status: StatusSection(status: Loadable(content: .received)),
        infoCard: InfoCardSection(info: Loadable(content: .sample)),
        fee: FeeSection(fee: Loadable(content: .sample)),
        scheduling: SchedulingSection(scheduling: Loadable(content: .sample)))

    /// Creates a store with everything loaded: its start has no effect.
    private func makeLoaded(
        _ orders: StubOrders, sourceLocation: SourceLocation = #_sourceLocation
    ) -> TestStore<OrderDetail> {
        TestStore(OrderDetail(id: "42", orders: orders), state: Self.loaded, sourceLocation: sourceLocation)
    }

    @Test func `every intent and label has an example`() { checkExamples(of: OrderDetail.self) }

    @Test func `the sections load separately as soon as the store starts`() async {
        let store = TestStore(OrderDetail(id: "42", orders: StubOrders()))
        await store.receive(.status(.load(.started))) { $0.status.status.isLoading = true }
        await store.receive(.infoCard(.started)) { $0.infoCard.info.isLoading = true }
        await store.receive(.fee(.started)) { $0.fee.fee.isLoading = true }
        await store.receive(.scheduling(.started)) { $0.scheduling.scheduling.isLoading = true }
        await store.receive(.status(.load(.loaded(.received)))) {
            $0.status.status = Loadable(content: .received)
        }
        await store.receive(.infoCard(.loaded(.sample))) { $0.infoCard.info = Loadable(content: .sample) }
        await store.receive(.fee(.loaded(.sample))) { $0.fee.fee = Loadable(content: .sample) }
        await store.receive(.scheduling(.loaded(.sample))) {
            $0.scheduling.scheduling = Loadable(content: .sample)
        }
        await store.finish()
    }

    @Test func `the view contains texts and the buttons that the status allows`() async {
        let store = makeLoaded(StubOrders())
        let view = store.view
        #expect(view.id == "42")
        #expect(view.status.content?.title == "Received")
        #expect(view.status.content?.buttons.map(\.actionId) == ["accept", "cancel"])
        #expect(view.status.content?.buttons.allSatisfy(\.isEnabled) == true)
        #expect(view.infoCard.content?.customer == "Café Morgenrot")
        #expect(view.fee.content?.lines.map(\.amount) == ["€49.00", "−€15.00"])
        #expect(view.fee.content?.total == "€34.00")
        #expect(
            view.scheduling.content
                == SchedulingSection.Content(date: "Thu 26 November", time: "08:00 – 10:00", technician: "Nobody yet"))
        await store.finish()
    }

    @Test func `a failed section does not affect the others and can be retried`() async {
        let answers = Sequenced<OrderFee>(.failure(StubFailure()), .success(.sample))
        let store = TestStore(
            OrderDetail(id: "42", orders: StubOrders(onFee: { _ in try answers.next() })), exhaustive: false)
        await store.receive(.fee(.failed))
        await store.receive(.scheduling(.loaded(.sample)))
        #expect(store.view.fee == FeeSection.View(status: .error, error: "The fee could not be loaded."))
        #expect(store.view.status.status == .content)
        store.exhaustive(true)
        await store.send(.retrySection(section: .fee))
        await store.receive(.fee(.started)) {
            $0.fee.fee.isLoading = true
            $0.fee.fee.hasFailed = false
        }
        await store.receive(.fee(.loaded(.sample))) { $0.fee.fee = Loadable(content: .sample) }
        await store.finish()
    }

    @Test func `a refresh that fails keeps what was loaded`() async {
        let store = makeLoaded(StubOrders(onInfo: { _ in throw StubFailure() }))
        store.exhaustive(false)
        await store.send(.refreshAllData)
        await store.receive(.infoCard(.failed))
        #expect(store.view.infoCard.status == .error)
        #expect(store.view.infoCard.content?.customer == "Café Morgenrot")
        await store.finish()
    }

    @Test func `a status button takes its step and the appointment is loaded again`() async {
        let gate = Gate()
        let store = makeLoaded(
            StubOrders(onTake: { step, _ in
                try await gate.wait()
                return try #require(step.target(from: .received))
            }))
        await store.send(.statusButton(actionId: "accept"))
        await store.receive(.status(.stepStarted(.accept))) { $0.status.step = .accept }
        #expect(store.view.status.content?.progress == "Accept the order…")
        #expect(store.view.status.content?.buttons.contains(where: \.isEnabled) == false)
        await store.send(.statusButton(actionId: "cancel"))
        await store.expect(.toast(text: "One moment, something else is still in progress"))
        gate.open()
        await store.receive(.status(.stepTaken(.accepted))) {
            $0.status = StatusSection(status: Loadable(content: .accepted))
        }
        await store.expect(.toast(text: "The order is accepted"))
        await store.receive(.scheduling(.started)) { $0.scheduling.scheduling.isLoading = true }
        await store.receive(.scheduling(.loaded(.sample))) { $0.scheduling.scheduling.isLoading = false }
        await store.finish()
    }

    @Test func `a refresh during a step does not load the status`() async {
        let gate = Gate()
        let store = makeLoaded(
            StubOrders(onTake: { _, _ in
                try await gate.wait()
                return .accepted
            }))
        store.exhaustive(false)
        await store.send(.statusButton(actionId: "accept"))
        await store.send(.refreshAllData)
        await store.receive(.fee(.loaded(.sample)))
        #expect(!store.state.status.status.isLoading)
        gate.open()
        await store.receive(.status(.stepTaken(.accepted)))
        #expect(store.state.status.status.content == .accepted)
        await store.finish()
    }

    @Test func `a step that fails leaves the order as it was`() async {
        let store = makeLoaded(StubOrders())
        await store.send(.statusButton(actionId: "accept"))
        await store.receive(.status(.stepStarted(.accept))) { $0.status.step = .accept }
        await store.receive(.status(.stepFailed)) { $0.status.step = nil }
        await store.expect(.toast(text: "That did not work. The order is as it was."))
        await store.finish()
    }

    @Test func `a step that is no longer possible shows the order's present status`() async {
        let store = makeLoaded(StubOrders(onTake: { _, _ in throw OrderStepRefused(status: .cancelled) }))
        await store.send(.statusButton(actionId: "accept"))
        await store.receive(.status(.stepStarted(.accept))) { $0.status.step = .accept }
        await store.receive(.status(.stepTaken(.cancelled))) {
            $0.status = StatusSection(status: Loadable(content: .cancelled))
        }
        await store.expect(.toast(text: "Someone else was faster. The order is canceled"))
        await store.finish()
    }

    @Test(arguments: ["", "complete", "reopen", "ACCEPT", "no such thing", "accept "])
    func `an action that the status does not have shows a toast`(actionId: String) async {
        let store = makeLoaded(StubOrders())
        await store.send(.statusButton(actionId: actionId))
        await store.expect(.toast(text: "That cannot be done with this order now"))
        await store.finish()
    }

    @Test func `a store saved while loading and taking a step does not stay in that state`() async {
        var state = Self.loaded
        state.fee.fee = Loadable(isLoading: true)
        state.status.step = .accept
        let store = TestStore(
            OrderDetail(id: "42", orders: StubOrders(onStatus: { _ in .accepted })), state: state,
            exhaustive: false)
        await store.receive(.scheduling(.loaded(.sample)))
        var expected = Self.loaded
        expected.status.status.content = .accepted
        #expect(store.state == expected)
        await store.finish()
    }

    @Test func `a restored store with everything loaded loads nothing, and failed sections stay failed`() async {
        var state = Self.loaded
        state.fee.fee = Loadable(hasFailed: true)
        let store = TestStore(OrderDetail(id: "42", orders: StubOrders()), state: state)
        #expect(store.state == state)
        await store.finish()
    }

    @Test func `a store restored before anything was loaded loads it`() async {
        let store = TestStore(
            OrderDetail(id: "42", orders: StubOrders()), state: OrderDetail.State(), exhaustive: false)
        await store.receive(.scheduling(.loaded(.sample)))
        #expect(store.state == Self.loaded)
        await store.finish()
    }

    @Test(arguments: OrderStatus.allCases) func `every status can be left and every step leads somewhere`(
        status: OrderStatus
    ) {
        let steps = OrderStep.allCases.filter { $0.target(from: status) != nil }
        #expect(!steps.isEmpty)
        #expect(steps.allSatisfy { $0.target(from: status) != status })
    }
}
