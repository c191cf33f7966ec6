/// The options and timeouts of doctor.
struct DoctorOptions: Sendable {
    var address: ServerAddress
    /// The server's admin address for health checks; nil for none.
    var admin: ServerAddress?
    /// The proof that signs new sessions in, such as a JWT; nil for anonymous sessions.
    var identity: String?
    /// The fields of every request, such as those that a proxy requires.
    var fields: [(name: String, value: String)] = []
    /// A file with additional trusted certificates (PEM).
    var authorities: String?
    /// The time for which a quiet stream is watched; nil for a little over two heartbeats, at most a minute.
    var watch: Duration?
    /// The timeout of an event, after which it counts as buffered.
    var patience = Duration.seconds(3)
    /// The timeout of an answer.
    var answerTime = Duration.seconds(10)
    /// The timeout of all measurements except the quiet stream.
    var totalTime = Duration.seconds(120)

    init(_ address: ServerAddress) { self.address = address }

    /// The timeout of everything.
    var longestTime: Duration { totalTime + (watch ?? .seconds(60)) }
}

/// An error that prevents all measurements: the cause and a remedy.
struct Unreachable: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
