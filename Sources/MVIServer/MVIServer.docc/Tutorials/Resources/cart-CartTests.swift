import MVITesting
import Testing

@testable import LittleShop

@Suite struct CartTests {
    @Test func `what is added is on the list, with its price`() async throws {
        let store = TestStore(try #require(Cart(shop: "tea")), key: "tea")
        await store.send(.add(product: "assam", count: 2)) { $0.counts = ["assam": 2] }
        #expect(store.view.total == 1_380)
        await store.finish()
    }

    @Test func `a product of another shop is refused`() async throws {
        let store = TestStore(try #require(Cart(shop: "tea")), key: "tea")
        await store.sendRejected(.add(product: "atlas", count: 1), .notFound, code: "no-such-product")
        await store.finish()
    }

    @Test func `there is no cart of an unknown shop`() {
        let cart = Cart(shop: "cars")
        #expect(cart.map(\.products) == nil)
    }

    @Test func `every intent has an example`() { checkExamples(of: Cart.self) }
}
