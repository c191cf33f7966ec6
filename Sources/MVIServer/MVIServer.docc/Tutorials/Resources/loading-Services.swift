/// The external services of the features, here in memory.
struct Services: Sendable {
    /// The products whose name has a text in it.
    var search: @Sendable (_ text: String) async throws -> [Product]

    static let demo = Services(search: { text in
        Product.all.filter { text.isEmpty || $0.name.contains(text) }
    })
}
