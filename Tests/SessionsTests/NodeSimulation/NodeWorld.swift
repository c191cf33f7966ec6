import Locking
import MVI
import TestSupport

/// Results for a client until it reads them.
final class Inbox<Item: Sendable>: Sendable {
    private let items = Lock<[Item]>([])

    func put(_ item: Item) { items.withLock { $0.append(item) } }

    func take() -> [Item] {
        items.withLock { items in
            defer { items = [] }
            return items
        }
    }
}

/// A client of simulated nodes.
protocol NodeUser: AnyObject {
    /// Reads its results.
    func receive()

    /// Gives up what takes longer than its patience.
    func lookAtClock(now: Duration, patience: Duration)
}

/// What simulations of nodes have in common: messages, clocks and pending tasks, on one thread.
protocol NodeWorld: AnyObject {
    associatedtype User: NodeUser

    var random: SplitMix { get set }
    /// The true time since the start.
    var now: Duration { get set }
    /// The same, for journals.
    var time: Box<Duration> { get }
    var nodes: [NodeProcess] { get }
    var users: [User] { get }
    var network: NodeNetwork { get }

    func note(fault: String)
}

extension NodeWorld {
    func any<Element>(_ elements: [Element]) -> Element {
        elements[Int(random.next() % UInt64(elements.count))]
    }

    /// Delivers a message between nodes; returns false if there is none.
    @discardableResult
    func deliver() -> Bool {
        let nodes = nodes
        let next = network.take(&random) { address in nodes.first { $0.address == address }?.isStopped != true }
        guard let (address, call) = next else { return false }
        call(nodes.first { $0.address == address })
        return true
    }

    /// Advances the time only.
    func advance(by time: Duration) {
        let before = now.components.seconds
        now += time
        self.time.set(now)
        for node in nodes {
            if node.isStopped {
                node.clocks.miss(time)
            } else {
                node.clocks.advance(by: time)
                if now.components.seconds > before { node.beat(nodes) }
            }
        }
        for user in users { user.lookAtClock(now: now, patience: .seconds(8)) }
    }

    /// Runs all pending tasks until they wait.
    func settle() {
        var (count, isBusy) = (0, true)
        while isBusy {
            isBusy = false
            for node in nodes {
                while node.step(&random) {
                    (isBusy, count) = (true, count + 1)
                    guard count < 40_000 else { return isNeverIdle(node) }
                }
            }
            if deliver() { isBusy = true }
            for user in users { user.receive() }
        }
    }

    private func isNeverIdle(_ node: NodeProcess) {
        let calls = node.way.calls.sorted { $0.value > $1.value }.prefix(3).map { "\($0.value) of \($0.key)" }
        note(fault: "something is tried again and again on \(node.address), which asked the journal for \(calls)")
    }
}
