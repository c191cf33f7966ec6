/// Deadlines in slots of time. Insertion and search cost the same for ten as for ten thousand of them.
///
/// Times are nanoseconds of a monotonic clock. A deadline is reported up to one `granularity` late, never early.
/// Deadlines cannot be removed: the owner looks up the reported ids and ignores removed ones.
struct TimerWheel {
    private struct Entry {
        var id: UInt64
        var tick: UInt64
    }

    private let granularity: UInt64
    private var slots: [[Entry]]
    /// Every tick up to this one has been reported.
    private var reached: UInt64
    private var count = 0
    /// No slot before that of this tick has a deadline, from the next tick on.
    private var searched: UInt64 = 0

    init(granularity: UInt64, slotCount: Int, now: UInt64) {
        precondition(granularity > 0 && slotCount > 1, "a wheel needs a granularity and two slots")
        self.granularity = granularity
        slots = Array(repeating: [], count: slotCount)
        reached = now / granularity
    }

    /// Sets a deadline for `id`. A past one is due at the next tick.
    mutating func insert(_ id: UInt64, at deadline: UInt64) {
        let tick = max(reached + 1, deadline / granularity + (deadline % granularity == 0 ? 0 : 1))
        slots[Int(tick % UInt64(slots.count))].append(Entry(id: id, tick: tick))
        count += 1
        // The slot's own turn, which comes before a deadline of more than a turn of the wheel.
        searched = min(searched, reached + 1 + (tick - reached - 1) % UInt64(slots.count))
    }

    /// Removes and returns the ids that are due at `now`.
    mutating func advance(to now: UInt64) -> [UInt64] {
        let target = now / granularity
        guard target > reached else { return [] }
        var due: [UInt64] = []
        if count > 0 {
            // After a long sleep, one turn of the wheel covers every slot.
            let steps = min(target - reached, UInt64(slots.count))
            for tick in (target - steps + 1)...target {
                let slot = Int(tick % UInt64(slots.count))
                guard !slots[slot].isEmpty else { continue }
                slots[slot].removeAll { entry in
                    guard entry.tick <= target else { return false }
                    due.append(entry.id)
                    return true
                }
                // Removing keeps the storage; a burst of clients would leave its peak in one slot after the other.
                if slots[slot].capacity > 4 * slots[slot].count { slots[slot] = slots[slot].map { $0 } }
            }
            count -= due.count
        }
        reached = target
        return due
    }

    /// The number of deadlines for which memory is allocated.
    var room: Int { slots.reduce(0) { $0 + $1.capacity } }

    /// The time for the next `advance`: at or before the earliest deadline; nil if there is none. The next search begins
    /// where this one ended.
    var nextDeadline: UInt64? {
        mutating get {
            guard count > 0 else { return nil }
            for tick in max(reached + 1, searched)...(reached + UInt64(slots.count))
            where !slots[Int(tick % UInt64(slots.count))].isEmpty {
                searched = tick
                return tick * granularity
            }
            return nil
        }
    }
}
