/// The services of the demo's features. Each is asynchronous, may fail, and must return in time when the calling task
/// is canceled.

/// Numbers for the counter.
protocol NumberRepository: Sendable {
    /// Returns the next number. Each number comes once before any comes again.
    func next() async throws -> Int
}

/// The conference's recordings.
protocol VideoRepository: Sendable {
    /// Returns all of them, in the order of the program.
    func all() async throws -> [Video]
    /// Returns the number of views of all videos together.
    func views() async throws -> Int
    /// Counts one more view of a video and returns `views()` after it; nil if there is no such video.
    func recordView(of id: Int) async throws -> Int?
}

/// Lessons and their participants.
protocol LessonRepository: Sendable {
    /// Returns a lesson; nil if there is none.
    func lesson(_ id: String) async throws -> Lesson?
    /// Books or gives up the place. A repeated call is no error.
    func setEnrolled(_ isEnrolled: Bool, in id: String) async throws
    /// Sends the confirmation again and returns the address that it goes to.
    func resendConfirmation(of id: String) async throws -> String
}

/// Orders, section by section: in real life each comes from another system.
protocol OrderRepository: Sendable {
    /// Returns the order's progress.
    func status(of id: String) async throws -> OrderStatus
    /// Returns the customer and the subject.
    func info(of id: String) async throws -> OrderInfo
    /// Returns the price.
    func fee(of id: String) async throws -> OrderFee
    /// Returns the appointment and the technician.
    func scheduling(of id: String) async throws -> OrderScheduling
    /// Takes a step of the order and returns the status after it.
    ///
    /// - Throws: `OrderStepRefused` if the status does not allow it (any more).
    func take(_ step: OrderStep, in id: String) async throws -> OrderStatus
}

/// The signed-in user.
protocol UserRepository: Sendable {
    func current() async throws -> User
}

/// A row that the database should have but does not.
struct MissingRecord: Error, CustomStringConvertible {
    let what: String

    var description: String { "there is no \(what)" }
}

/// A lesson with its teacher and place.
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

/// A place of lessons.
struct Venue: Codable, Equatable, Sendable {
    var name: String
    var address: String
    var latitude: Double
    var longitude: Double
}

/// The progress of an order.
enum OrderStatus: String, Codable, Sendable, CaseIterable {
    case received, accepted, onSite, done, cancelled
}

/// A step from one status to another.
enum OrderStep: String, Codable, Sendable, CaseIterable {
    case accept, arrive, complete, cancel, reopen

    /// Returns the status after the step; nil if the step is not possible from `status`.
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
    /// The present status.
    let status: OrderStatus
}

/// The customer and the subject of an order.
struct OrderInfo: Codable, Equatable, Sendable {
    var customer: String
    var phone: String
    var address: String
    var subject: String
    var notes: String?
}

/// The price of an order.
struct OrderFee: Codable, Equatable, Sendable {
    struct Line: Codable, Equatable, Sendable {
        var text: String
        var amount: Money
    }

    var lines: [Line]
}

/// The appointment and the technician of an order.
struct OrderScheduling: Codable, Equatable, Sendable {
    var from: LocalTime
    var to: LocalTime
    var technician: String?
}

/// A person with an account.
struct User: Codable, Equatable, Sendable {
    var name: String
    var email: String
    var phone: String?
    var city: String
    var plan: String
    var joinedAt: LocalTime
}

/// A recording of a talk.
struct Video: Codable, Equatable, Sendable {
    var id: Int
    var title: String
    var speaker: String
    var conference: String
    var seconds: Int
    /// The path of its page on the video host.
    var slug: String
}
