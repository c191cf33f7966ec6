import MVI
import MVITesting
import Testing

@testable import LittleShop

@Suite struct CheckoutTests {
    private let id = "00000000-0000-4000-8000-000000000001"

    private func store() throws -> TestStore<Checkout> {
        let cart = try #require(Cart(shop: "tea"))
        return TestStore(
            Checkout(shop: "tea"), key: "tea",
            others: [OtherStore(cart, key: "tea", state: Cart.State(counts: ["assam": 2]))])
    }

    @Test func `an order takes the goods out of the cart, and they go back if it is cancelled`() async throws {
        let store = try store()
        await store.send(.place) { $0.order = Checkout.Order(id: id, goods: ["assam": 2], total: 1_380) }
        await store.expect(.placed(order: id))
        await store.expectSent(.empty, to: Cart.self, key: "tea")
        #expect(store.view(of: Cart.self, key: "tea")?.total == 0)
        await store.send(.cancel) { $0.order?.status = .cancelled }
        await store.expectSent(.add(product: "assam", count: 2), to: Cart.self, key: "tea")
        #expect(store.view(of: Cart.self, key: "tea")?.total == 1_380)
        await store.finish()
    }

    @Test func `every intent and label has an example`() { checkExamples(of: Checkout.self) }
}
