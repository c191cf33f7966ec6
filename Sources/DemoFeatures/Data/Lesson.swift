/// A lesson that somebody gives somewhere.
struct Lesson: Codable, Equatable, Sendable {
    var id: String
    var title: String
    var coach: String
    var level: String
    var startsAt: LocalTime
    var minutes: Int
    var price: Money
    var venue: Venue
    var freePlaces: Int
    var isEnrolled: Bool
}

/// Where lessons are given.
struct Venue: Codable, Equatable, Sendable {
    var name: String
    var address: String
    var latitude: Double
    var longitude: Double
}
