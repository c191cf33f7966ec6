/// The names of the channels for `LISTEN` and `NOTIFY`.
struct NewsChannels: Sendable {
    /// A random number by which a process ignores its own news.
    let sender = UInt64.random(in: .min ... .max)
    /// The channel for the news of all processes on a schema.
    let news: String
    /// The channel for this process's heartbeats to itself.
    let heartbeat: String

    init(schema: String) {
        // PostgreSQL's names have at most 63 bytes.
        let name = "mvi \(schema)"
        if name.utf8.count <= 63 {
            news = name
        } else {
            // FNV-1a: the same in every process.
            let hash = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
            news = "mvi #\(String(hash, radix: 16))"
        }
        heartbeat = "mvi heartbeat \(String(sender, radix: 16))"
    }
}
