/// When the next transaction begins: not before a window's end, so that at some thousand appends a second not each has a
/// sync of its own.
///
/// It adapts: waiting helps where several clients come within a window, and only costs time where one client waits for
/// each answer before it sends the next. So what the last waits brought decides; and now and then it is tried again.
/// Plain data; the writer does the waiting.
struct CommitWindow {
    /// From one transaction's beginning to the next one's; zero never to wait.
    let length: Duration
    /// So many share the cost of a sync well enough: they are not kept waiting for more.
    let items: Int
    /// How many transactions begin at once before waiting is tried again.
    static let trialInterval = 32

    private var end: ContinuousClock.Instant?
    /// How many more writes a wait brought, of late on average.
    private var gain = 1.0
    /// How many transactions began without a wait since the last one.
    private var unwaited = 0
    /// How many writes there were when the wait began.
    private var waitedFrom: Int?

    init(length: Duration, items: Int) {
        (self.length, self.items) = (length, items)
    }

    /// How long to wait, and for how many more writes at most; nil not to. Each transaction is waited for once.
    mutating func wait(pending: Int, now: ContinuousClock.Instant) -> (count: Int, time: Duration)? {
        guard let end, waitedFrom == nil, pending < items, now < end else { return nil }
        if gain < 0.25 {
            guard unwaited >= Self.trialInterval else { return nil }
        }
        unwaited = 0
        waitedFrom = pending
        return (items - pending, end - now)
    }

    /// Nothing came while it waited, which says nothing.
    mutating func stayedEmpty() {
        waitedFrom = nil
        end = nil
    }

    /// A transaction begins, with so many writes.
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
