import MVITesting
import Testing

@testable import LittleShop

@Suite struct CatalogueTests {
    struct Down: Error {}

    @Test func `it searches once for what was typed quickly`() async {
        let store = TestStore(Catalogue { text in Product.all.filter { $0.id == text } })
        await store.receive(.searchStarted(text: "")) { $0.isSearching = true }
        await store.receive(.found([])) { $0.isSearching = false }
        await store.send(.search(text: "a")) {
            $0.text = "a"
            $0.isSearching = true
        }
        await store.send(.search(text: "atlas")) { $0.text = "atlas" }
        await store.advance(by: .milliseconds(300))
        await store.receive(.found(Product.all.filter { $0.id == "atlas" })) {
            $0.products = Product.all.filter { $0.id == "atlas" }
            $0.isSearching = false
        }
        await store.finish()
    }

    @Test func `a search that fails is told`() async {
        let store = TestStore(Catalogue { _ in throw Down() })
        await store.receive(.searchStarted(text: "")) { $0.isSearching = true }
        await store.advance(by: .zero)
        await store.expectFailure()
        await store.receive(.failed) { $0.isSearching = false }
        await store.expect(.notice(text: "The catalogue cannot be searched now."))
        await store.finish()
    }

    @Test func `every intent and label has an example`() { checkExamples(of: Catalogue.self) }
}
