/// A person with an account.
struct User: Codable, Equatable, Sendable {
    var name: String
    var email: String
    var phone: String?
    var city: String
    var plan: String
    var joinedAt: LocalTime
}
