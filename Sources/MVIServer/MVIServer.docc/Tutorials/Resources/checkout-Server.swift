import MVIServer

/// The program: serves what stands in `content`, and has all flags and commands of a server (`--help`).
@main
struct Server: FeatureServerCommand {
    static let name = "little-shop"
    static let version = "0.1.0"

    var services: Services { .demo }

    var content: ServerContent {
        Catalogue(search: services.search)
        Keyed { Cart(shop: $0) }
        Keyed { shop in Cart(shop: shop).map { _ in Checkout(shop: shop) } }
    }

    var page: [PageResource] {
        [
            PageResource("/", PackageResources.index_html),
            PageResource("/page.js", PackageResources.page_js),
        ]
    }
}
