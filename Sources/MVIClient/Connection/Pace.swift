/// The delays between attempts.
struct Pace: Sendable {
    /// The longest delay between two attempts if the server requests none.
    static let cap = Duration.seconds(30)
    /// The longest delay that a `Retry-After` or a `goaway` can request.
    static let askedCap = Duration.seconds(300)

    /// The shortest delay between two attempts: 16 per second, whatever the server requests.
    static let floor = Duration.milliseconds(60)

    /// Returns uniformly distributed numbers from 0 to 1.
    let random: @Sendable () -> Double

    /// The delay before the next attempt: base × 2^attempts up to the cap, reduced by a random part of up to a half, so
    /// that clients that a server lost at the same time do not return at once.
    func delay(base: Duration, attempts: Int) -> Duration {
        var whole = max(base, Self.floor)
        for _ in 0..<max(attempts, 0) where whole < Self.cap { whole = whole * 2 }
        return max(min(whole, Self.cap) * (0.5 + 0.5 * random()), Self.floor)
    }

    /// A delay that the server requested, increased by up to a quarter.
    func asked(_ time: Duration) -> Duration {
        min(max(time, Self.floor), Self.askedCap) * (1 + 0.25 * random())
    }
}
