/// The services that the demo's features talk to. Each is asynchronous, may fail, and must be left in time when the
/// calling task is cancelled.

/// Numbers for the counter.
protocol NumberRepository: Sendable {
    /// The next number; each comes once before any comes again.
    func next() async throws -> Int
}

/// The conference's recordings.
protocol VideoRepository: Sendable {
    /// All of them, in the order of the programme.
    func all() async throws -> [Video]
    /// The total number of views.
    func views() async throws -> Int
    /// Counts one more view of a video and returns `views()` after it; nil if there is no such video.
    func recordView(of id: Int) async throws -> Int?
}

/// Lessons and who takes part in them.
protocol LessonRepository: Sendable {
    /// A lesson; nil if there is none.
    func lesson(_ id: String) async throws -> Lesson?
    /// Books or gives up the place. Doing it twice is no error.
    func setEnrolled(_ isEnrolled: Bool, in id: String) async throws
    /// Sends the confirmation anew and returns the address that it goes to.
    func resendConfirmation(of id: String) async throws -> String
}

/// Orders, section by section: each comes from another system in real life.
protocol OrderRepository: Sendable {
    /// Returns the order's status.
    func status(of id: String) async throws -> OrderStatus
    /// Returns the order's customer and subject.
    func info(of id: String) async throws -> OrderInfo
    /// Returns the order's fee.
    func fee(of id: String) async throws -> OrderFee
    /// Returns the order's date and staff.
    func scheduling(of id: String) async throws -> OrderScheduling
    /// Takes a step in the order's life and returns the status after it.
    ///
    /// - Throws: `OrderStepRefused` if the status does not allow it (any more).
    func take(_ step: OrderStep, in id: String) async throws -> OrderStatus
}

/// Provides the user.
protocol UserRepository: Sendable {
    /// The user.
    func current() async throws -> User
}

/// Something that must be in the database is not.
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

/// The place of a lesson.
struct Venue: Codable, Equatable, Sendable {
    var name: String
    var address: String
    var latitude: Double
    var longitude: Double
}

/// The status of an order.
enum OrderStatus: String, Codable, Sendable, CaseIterable {
    case received, accepted, onSite, done, cancelled
}

/// A step from one status to another.
enum OrderStep: String, Codable, Sendable, CaseIterable {
    case accept, arrive, complete, cancel, reopen

    /// Returns the status after this step; nil if the step is impossible.
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
    /// The current status.
    let status: OrderStatus
}

/// The customer and subject of an order.
struct OrderInfo: Codable, Equatable, Sendable {
    var customer: String
    var phone: String
    var address: String
    var subject: String
    var notes: String?
}

/// The fee of an order.
struct OrderFee: Codable, Equatable, Sendable {
    struct Line: Codable, Equatable, Sendable {
        var text: String
        var amount: Money
    }

    var lines: [Line]
}

/// The date and staff of an order.
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
    /// The path of its page under the host that shows it.
    var slug: String
}
