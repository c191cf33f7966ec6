/// Something that a shop sells.
struct Product: Codable, Equatable, Sendable, Identifiable {
    let id: String
    let name: String
    let shop: String
    /// In cents.
    let price: Int

    static let all = [
        Product(id: "assam", name: "Assam", shop: "tea", price: 690),
        Product(id: "sencha", name: "Sencha", shop: "tea", price: 1_250),
        Product(id: "atlas", name: "An atlas", shop: "books", price: 4_900),
    ]
}
