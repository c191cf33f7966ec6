import MVITesting
import Testing

@testable import LittleShop

@Suite struct CatalogueTests {
    @Test func `a search shows the products that have the text in their name`() async {
        let store = TestStore(Catalogue())
        await store.send(.search(text: "atlas")) {
            $0.text = "atlas"
            $0.products = Product.all.filter { $0.id == "atlas" }
        }
        await store.finish()
    }

    @Test func `every intent has an example`() { checkExamples(of: Catalogue.self) }
}
