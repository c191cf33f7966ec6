import EventStream
import Locking
import MVI

/// The next bytes of a part of a bundle.
struct PartStep {
    let bytes: [UInt8]
    /// The number of the turn up to which the part has shown all, once the bytes are written, and its log's name.
    let covered: UInt64
    let epoch: String
    /// True if it waits to be woken then.
    let isAll: Bool
    /// The reason why it ends after them; nil if it goes on.
    let ending: GoAwayReason?
}

extension SessionStream {
    /// The next step of a part of a bundle. Empty bytes without an ending mean that it waits to be woken.
    func nextPart() -> PartStep {
        if showsChanges || hasAudiences || hasPresence {
            let step = nextStep()
            return session.core.withLock { $0.part(step, of: number, beginning) }
        }
        let now = session.shared.time.monotonic()
        if client.credential?.hasExpired(at: session.shared.time.sinceEpoch()) == true { cut(.identity) }
        func take(_ core: inout SessionCore, _ access: StreamAccess) -> (PartStep, EventTally) {
            let step = core.nextStep(of: self, now: now, access)
            return (core.part(step, of: number, beginning), core.streams.takeTally(of: number))
        }
        let (part, tally) =
            (isForEveryone ? session.judgingCaller(client, take) : nil) ?? session.judging(filter, of: client, take)
        session.shared.metrics.count(tally)
        return part
    }
}

extension SessionCore {
    fileprivate func part(_ step: StreamStep, of number: UInt64, _ beginning: SessionStream.Beginning) -> PartStep {
        // By index: a stream would be copied as a whole.
        let index = streams.index(of: number)
        let covered = index.flatMap { streams.all[$0].rare?.covered } ?? 0
        switch step {
        case .wait: return PartStep(bytes: [], covered: 0, epoch: beginning.epoch, isAll: true, ending: nil)
        case .write(let bytes):
            return PartStep(bytes: bytes, covered: covered, epoch: epoch, isAll: false, ending: nil)
        case .writeAll(let bytes):
            return PartStep(bytes: bytes, covered: covered, epoch: epoch, isAll: true, ending: nil)
        case .finish(let bytes):
            let reason = index.flatMap { streams.all[$0].farewell?.reason }
            return PartStep(bytes: bytes, covered: covered, epoch: epoch, isAll: true, ending: reason ?? .ended)
        }
    }
}
