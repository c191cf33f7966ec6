import MVI

/// The price of the order.
struct FeeSection: Part {
    struct Content: Codable, Equatable, Sendable {
        struct Line: Codable, Equatable, Sendable {
            var text: String
            var amount: String
        }

        var lines: [Line]
        var total: String
    }

    var fee = Loadable<OrderFee>()

    mutating func reduce(_ message: Loadable<OrderFee>.Message) { fee.reduce(message) }

    var view: SectionView<Content> {
        fee.view(error: "The fee could not be loaded.") { fee in
            Content(
                lines: fee.lines.map { Content.Line(text: $0.text, amount: $0.amount.text) },
                total: fee.lines.reduce(Money(cents: 0)) { $0 + $1.amount }.text)
        }
    }
}
