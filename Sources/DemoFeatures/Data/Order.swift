/// Where an order stands.
enum OrderStatus: String, Codable, Sendable, CaseIterable {
    case received, accepted, onSite, done, cancelled
}

/// A step from one status to another.
enum OrderStep: String, Codable, Sendable, CaseIterable {
    case accept, arrive, complete, cancel, reopen

    /// What the step leads to from `status`; nil where it cannot be taken.
    func target(from status: OrderStatus) -> OrderStatus? {
        switch (self, status) {
        case (.accept, .received): .accepted
        case (.arrive, .accepted): .onSite
        case (.complete, .onSite): .done
        case (.cancel, .received), (.cancel, .accepted): .cancelled
        case (.reopen, .done), (.reopen, .cancelled): .received
        default: nil
        }
    }
}

/// The status changed before the step was taken.
struct OrderStepRefused: Error, Equatable {
    /// What it is now.
    let status: OrderStatus
}

/// Whom and what an order is for.
struct OrderInfo: Codable, Equatable, Sendable {
    var customer: String
    var phone: String
    var address: String
    var subject: String
    var notes: String?
}

/// What an order costs.
struct OrderFee: Codable, Equatable, Sendable {
    struct Line: Codable, Equatable, Sendable {
        var text: String
        var amount: Money
    }

    var lines: [Line]
}

/// When an order is done, and by whom.
struct OrderScheduling: Codable, Equatable, Sendable {
    var from: LocalTime
    var to: LocalTime
    var technician: String?
}
