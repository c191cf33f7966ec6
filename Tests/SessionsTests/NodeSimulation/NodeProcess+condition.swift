@testable import Sessions

extension NodeProcess {
    /// The condition of the node and its sessions, for the output of a seed.
    var condition: [String] {
        let lease = table.environment.lease
        let calls = way.calls.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key.prefix { $0 != "(" })" }
        let lines = [
            "\(address): build \(build), life \(life), id \(lease?.id?.number ?? 0), "
                + "\(lease?.holder == nil ? "without" : "with") a lease, \(clocks.sleeping.sleeperCount) sleep, "
                + "\(executor.waiting) wait, asked for \(calls)"
        ]
        return lines + table.sessions.flatMap { condition(of: $0) }
    }

    private func condition(of session: Session) -> [String] {
        session.core.withLock { core in
            let ownership = core.ownership
            let owner = ownership.owner.map { "\($0.node.number) since \($0.fence.number)" } ?? "none"
            let stores = core.stores.map { slot in
                "      \(slot.feature) of version \(slot.version): \(slot.start), "
                    + "\(slot.store == nil ? "not in memory" : "in memory"), busy \(slot.store?.isBusy == true), "
                    + "watched \(slot.store?.isWatched == true), held back \(slot.store?.isHeldBack == true), "
                    + "shown \(core.streams.isShown(slot.feature))"
            }
            return [
                "    \(session.id): \(session.queue.isIdle ? "idle" : "busy"), head \(core.head.number), owner \(owner), "
                    + "here \(ownership.isHere), \(core.streams.all.count) streams, "
                    + "watchers of \(ownership.watchers.keys.map(\.number))"
            ] + stores
        }
    }
}
