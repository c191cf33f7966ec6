/// A label with the end of its life.
struct TimedLabel<Label: Sendable>: Sendable {
    let label: Label
    /// The time of the client's clock from which on it is of no use; nil if the server did not tell.
    let end: Duration?

    func isAlive(at time: Duration) -> Bool { end.map { time < $0 } ?? true }
}
