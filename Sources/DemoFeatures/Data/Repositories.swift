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
    /// How often they were opened, all together.
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
    /// How far the order is.
    func status(of id: String) async throws -> OrderStatus
    /// Whom and what it is for.
    func info(of id: String) async throws -> OrderInfo
    /// What it costs.
    func fee(of id: String) async throws -> OrderFee
    /// When it is done, and by whom.
    func scheduling(of id: String) async throws -> OrderScheduling
    /// Takes a step in the order's life and returns the status after it.
    ///
    /// - Throws: `OrderStepRefused` if the status does not allow it (any more).
    func take(_ step: OrderStep, in id: String) async throws -> OrderStatus
}

/// Who is signed in.
protocol UserRepository: Sendable {
    /// The user.
    func current() async throws -> User
}

/// Something that must be in the database is not.
struct MissingRecord: Error, CustomStringConvertible {
    let what: String

    var description: String { "there is no \(what)" }
}
