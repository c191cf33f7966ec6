import MVIServer

/// The program: serves what stands in `content`, and has all flags and commands of a server (`--help`).
@main
struct Server: FeatureServerCommand {
    static let name = "little-shop"
    static let version = "0.1.0"

    @Setting(
        "reservation", .time(.seconds(1) ... .seconds(86_400)), "The time to pay an order.")
    var reservation: Duration = .seconds(600)
    var services: Services { .demo }

    var content: ServerContent {
        Catalogue(search: services.search)
        Keyed { Cart(shop: $0) }
        Keyed { shop in Cart(shop: shop).map { _ in Checkout(shop: shop, reservation: reservation) } }
    }

    var page: [PageResource] {
        [
            PageResource("/", PackageResources.index_html),
            PageResource("/page.js", PackageResources.page_js),
        ]
    }
}
