import MVI
import MVITesting
import Testing

@testable import LittleShop

@Suite struct CheckoutTests {
    private let id = "00000000-0000-4000-8000-000000000001"

    private var order: Checkout.Order {
        Checkout.Order(id: id, goods: ["assam": 2], total: 1_380, reservedUntil: .testStart + .seconds(600))
    }

    private func store(_ principal: Principal? = Principal(subject: "ann")) throws -> TestStore<Checkout> {
        let cart = try #require(Cart(shop: "tea"))
        return TestStore(
            Checkout(shop: "tea", reservation: .seconds(600)), key: "tea", principal: principal,
            others: [OtherStore(cart, key: "tea", state: Cart.State(counts: ["assam": 2]))])
    }

    @Test func `an order takes the goods out of the cart, and they go back if it is cancelled`() async throws {
        let store = try store()
        await store.send(.place) { $0.order = order }
        await store.expect(.placed(order: id))
        await store.expectSent(.empty, to: Cart.self, key: "tea")
        #expect(store.view(of: Cart.self, key: "tea")?.total == 0)
        await store.send(.cancel) { $0.order?.status = .cancelled }
        await store.expectSent(.add(product: "assam", count: 2), to: Cart.self, key: "tea")
        #expect(store.view(of: Cart.self, key: "tea")?.total == 1_380)
        await store.finish()
    }

    @Test func `after ten minutes the goods go back, wherever the store is`() async throws {
        let store = try store()
        await store.send(.place) { $0.order = order }
        await store.expect(.placed(order: id))
        await store.expectSent(.empty, to: Cart.self, key: "tea")
        await store.passivate()
        await store.advance(by: .seconds(600))
        await store.receive(.ended(.expired)) { $0.order?.status = .expired }
        await store.expectSent(.add(product: "assam", count: 2), to: Cart.self, key: "tea")
        await store.finish()
    }

    @Test func `only somebody who is signed in can order`() async throws {
        let store = try store(nil)
        await store.sendRejected(.place, .forbidden, code: "sign-in-first")
        await store.finish()
    }

    @Test func `every intent and label has an example`() { checkExamples(of: Checkout.self) }
}
