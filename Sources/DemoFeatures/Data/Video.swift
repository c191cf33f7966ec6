/// A recording of a talk.
struct Video: Codable, Equatable, Sendable {
    var id: Int
    var title: String
    var speaker: String
    var conference: String
    var seconds: Int
    /// The path of its page under the host that shows it.
    var slug: String
}
