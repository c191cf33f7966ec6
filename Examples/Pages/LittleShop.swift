import MVI
import MVIServer

// snippet.hide
enum LittleShopPage {
    // snippet.show
    // @main
    struct LittleShop: FeatureServerCommand {
        var content: ServerContent {
            Catalogue()
            Keyed { Cart(shop: $0) }
        }

        var page: [PageResource] {
            [
                PageResource("/", PackageResources.index_html),
                PageResource("/page.js", PackageResources.page_js),
            ]
        }
    }

    /// Corresponds to SwiftPM's code for `resources: [.embedInCode("Page")]`.
    struct PackageResources {
        static let index_html: [UInt8] = []
        static let page_js: [UInt8] = []
    }

    struct Catalogue: Feature {
        struct State: Codable, Equatable, Sendable {}
        enum Intent: Codable, Sendable { case refresh }
        static let examples: [Intent] = [.refresh]
        let initialState = State()

        func reduce(_ state: inout State, _ intent: Intent) {}
    }

    struct Cart: Feature {
        struct State: Codable, Equatable, Sendable { let shop: String }
        enum Intent: Codable, Sendable { case empty }
        static let examples: [Intent] = [.empty]
        let initialState: State

        init(shop: String) { initialState = State(shop: shop) }

        func reduce(_ state: inout State, _ intent: Intent) {}
    }
    // snippet.hide
}
