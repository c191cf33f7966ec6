/// Decides when the next transaction begins: not before the end of a window, so that a few thousand appends a second
/// share syncs.
///
/// The window adapts. Waiting helps if several clients write within a window, and only costs time if one client waits
/// for each answer. So the gain of recent waits decides, and a wait is retried now and then. A plain value; the writer
/// does the waiting.
struct CommitWindow {
    /// The time from one transaction's start to the next; zero disables waiting.
    let length: Duration
    /// The number of writes that share a sync well enough, so that they do not wait for more.
    let items: Int
    /// The number of transactions without a wait before a wait is tried again.
    static let trialInterval = 32

    private var end: ContinuousClock.Instant?
    /// The recent average of additional writes that a wait brought.
    private var gain = 1.0
    /// The number of transactions without a wait since the last one.
    private var unwaited = 0
    /// The number of writes at the beginning of the wait.
    private var waitedFrom: Int?

    init(length: Duration, items: Int) {
        (self.length, self.items) = (length, items)
    }

    /// Returns the time to wait and the number of further writes that ends it, or nil. Called once per transaction.
    mutating func wait(pending: Int, now: ContinuousClock.Instant) -> (count: Int, time: Duration)? {
        guard let end, waitedFrom == nil, pending < items, now < end else { return nil }
        if gain < 0.25 {
            guard unwaited >= Self.trialInterval else { return nil }
        }
        unwaited = 0
        waitedFrom = pending
        return (items - pending, end - now)
    }

    /// Ends a wait without any writes, which does not count.
    mutating func stayedEmpty() {
        waitedFrom = nil
        end = nil
    }

    /// Notes that a transaction begins with `count` writes.
    mutating func begins(count: Int, now: ContinuousClock.Instant) {
        if let before = waitedFrom {
            gain += (Double(count - max(1, before)) - gain) / 8
        } else {
            unwaited += 1
        }
        waitedFrom = nil
        end = now + length
    }
}
