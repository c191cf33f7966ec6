/// What doctor is asked to do, and how long it may take.
struct DoctorOptions: Sendable {
    var address: ServerAddress
    /// The server's own address of health checks; nil if it is not to be asked.
    var admin: ServerAddress?
    /// The proof that new sessions are signed in with, such as a JWT; nil for guests.
    var identity: String?
    /// Fields of every request, such as those that a proxy asks for.
    var fields: [(name: String, value: String)] = []
    /// A file with certificates (PEM) that are trusted beside the system's.
    var authorities: String?
    /// How long a quiet stream is watched; nil for a little over two heartbeats, at most a minute.
    var watch: Duration?
    /// How long an event is waited for before it counts as held back.
    var patience = Duration.seconds(3)
    /// How long an answer may take.
    var answerTime = Duration.seconds(10)
    /// How long all measuring beside the quiet stream may take.
    var totalTime = Duration.seconds(120)

    init(_ address: ServerAddress) { self.address = address }

    /// The bound of everything.
    var longestTime: Duration { totalTime + (watch ?? .seconds(60)) }
}

/// Why nothing could be measured: what happened, and what to do.
struct Unreachable: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
