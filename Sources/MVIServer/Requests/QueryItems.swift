/// The query of a request's target, as forms write it: `feature=a&feature=b%3A7`.
struct QueryItems {
    private let items: [(name: String, value: String?)]

    /// Values whose encoding is broken are there, and nil; so are those without `=`.
    init(_ query: [UInt8]?) {
        items = (query ?? []).split(separator: UInt8(ascii: "&")).compactMap { item in
            let parts = item.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentEncoding.decode(parts[0], plusIsSpace: true) else { return nil }
            return (name, parts.count == 2 ? PercentEncoding.decode(parts[1], plusIsSpace: true) : nil)
        }
    }

    /// Every value of that name, in order.
    func values(_ name: String) -> [String?] { items.filter { $0.name == name }.map(\.value) }
}
