import MVI

/// A product of a shop.
struct Product: Codable, Equatable, Sendable, Identifiable {
    let id: String
    let name: String
    let shop: String
    /// In cents.
    let price: Int
}

/// A discount on the price that expires.
struct Coupon: Codable, Equatable, Sendable {
    let code: String
    let percent: Int
    let expires: Timestamp
}

/// The external services of the features; tests and other shops replace them.
struct Services: Sendable {
    /// The products by shop and id, in memory.
    var shops: [String: [String: Product]]
    /// Returns the products whose name contains a text.
    var search: @Sendable (_ text: String) async throws -> [Product]
    /// Saves a line of a cart in its owner's account.
    var save: @Sendable (_ line: Line, _ shop: String, _ owner: Subject) async throws -> Void
    /// Returns a coupon by its code, expired or not; nil if there is none.
    var coupon: @Sendable (_ code: String) async throws -> Coupon?
    /// The offers of the day, sent again after each change.
    var offers: @Sendable () -> AsyncStream<[Offer]>
}

extension Services {
    func products(of shop: String) throws(Refusal) -> [String: Product] {
        guard let products = shops[shop] else {
            throw Refusal(.notFound, code: "no-such-shop", "There is no shop \"\(shop)\".")
        }
        return products
    }

    /// Two shops in memory, with accounts that accept at most ten of a product.
    static let demo: Services = {
        let products = [
            Product(id: "assam", name: "Assam", shop: "tea", price: 690),
            Product(id: "sencha", name: "Sencha", shop: "tea", price: 1_250),
            Product(id: "rooibos", name: "Rooibos", shop: "tea", price: 480),
            Product(id: "atlas", name: "An atlas", shop: "books", price: 4_900),
            Product(id: "cookbook", name: "Tea in the kitchen", shop: "books", price: 2_400),
        ]
        let shops = Dictionary(grouping: products, by: \.shop).mapValues { products in
            Dictionary(uniqueKeysWithValues: products.map { ($0.id, $0) })
        }
        let coupons = ["TEA10": "2099-12-31T23:59:59Z", "SPRING": "2026-03-31T23:59:59Z"].compactMapValues {
            Timestamp($0)
        }
        return Services(
            shops: shops,
            search: { text in
                products.filter { text.isEmpty || $0.name.lowercased().contains(text.lowercased()) }
            },
            save: { line, _, _ in
                try await Task.sleep(for: .milliseconds(200))
                if line.count > 10 { throw SoldOut() }
            },
            coupon: { code in coupons[code].map { Coupon(code: code, percent: 10, expires: $0) } },
            offers: {
                let texts = ["Ten percent off all teas", "Today no more than ten of each tea"]
                return AsyncStream { offers in
                    offers.yield(texts.map { Offer(text: $0, coupon: "TEA10") })
                    offers.finish()
                }
            })
    }()
}

/// The stock of a product is too small.
struct SoldOut: Error {}
