/// The options and time limits of doctor.
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
    /// The time for which a silent stream is watched; nil for a little over two heartbeats, at most a minute.
    var watch: Duration?
    /// The wait after which an event counts as held back.
    var patience = Duration.seconds(3)
    /// The time limit of an answer.
    var answerTime = Duration.seconds(10)
    /// The time limit of all measurements beside the silent stream.
    var totalTime = Duration.seconds(120)

    init(_ address: ServerAddress) { self.address = address }

    /// The bound of everything.
    var longestTime: Duration { totalTime + (watch ?? .seconds(60)) }
}

/// The reason for which nothing could be measured, and its remedy.
struct Unreachable: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
