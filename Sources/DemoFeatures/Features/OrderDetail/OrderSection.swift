/// One part of the order's screen: its own state, its own messages, its own reducer, its own view. Who writes one
/// section need not know the others.
protocol OrderSection: Codable, Equatable, Sendable {
    associatedtype Message: Codable, Equatable, Sendable
    associatedtype View: Codable, Equatable, Sendable

    mutating func reduce(_ message: Message)
    var view: View { get }
}

/// The sections by name.
enum OrderSectionName: String, Codable, Sendable, CaseIterable {
    case status, infoCard, fee, scheduling
}
