import MVI
import MVIServer

/// The features and endpoints of the shop.
struct Shop: Sendable {
    var services = Services.demo
    var reservation: Duration = .seconds(600)
    /// The secret of the payment provider's signatures.
    var paymentSecret: String
    var development: Development?

    @FeatureBuilder
    func content(_ sessions: SessionDirectory) -> ServerContent {
        Catalogue(search: services.search)
        Keyed(examples: examples) { try Cart(shop: $0, services) }
        Keyed(examples: examples) { try Checkout(shop: $0, reservation: reservation, services) }
        Offers(today: services.offers).requires { $0.claim("tier") == "premium" }
        SessionList(sessions: sessions).requires { $0.claim("role") == "admin" }
        Payment.webhook(secret: paymentSecret)
        if let development { development.content }
    }

    /// The shops of the carts in the documentation.
    private var examples: [String] { services.shops.keys.sorted() }

    static let page = [
        PageResource("/", PackageResources.index_html),
        PageResource("/shop.js", PackageResources.shop_js),
        PageResource("/shop.css", PackageResources.shop_css),
    ]
}
