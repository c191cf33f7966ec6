import MVI

/// The customer and the subject of the order.
struct InfoCardSection: Part {
    struct Content: Codable, Equatable, Sendable {
        var customer: String
        var phone: String
        var address: String
        var subject: String
        var notes: String?
    }

    var info = Loadable<OrderInfo>()

    mutating func reduce(_ message: Loadable<OrderInfo>.Message) { info.reduce(message) }

    var view: SectionView<Content> {
        info.view(error: "The customer's details could not be loaded.") { info in
            Content(
                customer: info.customer, phone: info.phone, address: info.address, subject: info.subject,
                notes: info.notes)
        }
    }
}
