/// The times between tries.
struct Pace: Sendable {
    /// The longest time between two tries where the server names none.
    static let cap = Duration.seconds(30)
    /// The longest that a `Retry-After` or a `goaway` is obeyed for.
    static let askedCap = Duration.seconds(300)

    /// The shortest time between two tries, whatever the server asks for: 16 a second.
    static let floor = Duration.milliseconds(60)

    /// From 0 to 1, evenly.
    let random: @Sendable () -> Double

    /// The time before the next try: base × 2^attempts up to the cap, of which a random half is left out, so that
    /// clients that a server lost at once come back spread out.
    func delay(base: Duration, attempts: Int) -> Duration {
        var whole = max(base, Self.floor)
        for _ in 0..<max(attempts, 0) where whole < Self.cap { whole = whole * 2 }
        return max(min(whole, Self.cap) * (0.5 + 0.5 * random()), Self.floor)
    }

    /// A time that the server asked for, and up to a quarter more.
    func asked(_ time: Duration) -> Duration {
        min(max(time, Self.floor), Self.askedCap) * (1 + 0.25 * random())
    }
}
