import Locking
import MVI
import MVITesting
import Networks
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("Callers of a space beside each other")
struct SpaceFairnessTests {
    private let milk = #"{"type":"add","text":"milk"}"#

    @Test("80: a caller's receipts take no place of another's, and the oldest gives way only when it is old enough")
    func receipts() throws {
        let fixture = try SpaceFixture(change: { $0.receiptsPerSession = 3 })
        let (ann, bob) = (try fixture.guest(), try fixture.guest())
        for number in 1...3 { _ = try ann.send(milk, key: "\(number)").get() }
        let refused = try ann.send(milk, key: "4")
        #expect(refused.code == .tooManyReceipts)
        for number in 1...3 { _ = try bob.send(milk, key: "\(number)").get() }
        fixture.time.advance(by: .seconds(601))
        #expect(try !ann.send(milk, key: "4").get().isReplayed)
        #expect(try ann.send(milk, key: "2").get().isReplayed)
        #expect(try bob.send(milk, key: "1").get().isReplayed)
        // Its name is free again, as that of a new intent.
        fixture.time.advance(by: .seconds(601))
        #expect(try !ann.send(milk, key: "1").get().isReplayed)
        #expect(try ann.state().get().items.count == 8)
    }

    @Test("80: where the receipts of all take all their room, the caller with most loses its oldest after a minute")
    func receiptBytes() throws {
        let fixture = try SpaceFixture(change: { $0.spaceReceiptBytes = 5_000 })
        let (ann, bob) = (try fixture.guest(), try fixture.guest())
        _ = try bob.send(milk, key: "first").get()
        var count = 0
        while try ann.send(milk, key: "\(count)").code == nil { count += 1 }
        #expect(count > 5)
        #expect(try bob.send(milk, key: "second").code == .tooManyReceipts)
        fixture.time.advance(by: .seconds(61))
        _ = try bob.send(milk, key: "second").get()
        #expect(try bob.send(milk, key: "first").get().isReplayed)
        #expect(try ann.send(milk, key: "1").get().isReplayed)
        // It was dropped, so it runs again.
        #expect(try !ann.send(milk, key: "0").get().isReplayed)
    }

    @Test("80: the caller with most receipts is the one that a count finds, and of several the first to have so many")
    func mostReceipts() throws {
        let (receipts, feature) = (ReceiptsByCaller(), try #require(FeatureID("chores:party")))
        var random = SplitMix(seed: 5)
        var counts: [Int: (count: Int, since: Int)] = [:]
        for step in 0..<40_000 {
            let caller = Int(random.next() % 50)
            let count = counts[caller]?.count ?? 0
            if random.next() % 2 == 0 || count == 0 {
                receipts.add((.key("\(step)", feature: feature), UInt64(step), .zero), of: "\(caller)")
                counts[caller] = (count + 1, step)
            } else {
                receipts.removeFirst(of: "\(caller)")
                counts[caller] = count > 1 ? (count - 1, step) : nil
            }
            // Not each time, so that entries get out of date.
            guard step < 1_000 || step % 500 == 0 else { continue }
            let most = counts.max { ($0.value.count, -$0.value.since) < ($1.value.count, -$1.value.since) }
            try #require(receipts.most() == most.map { "\($0.key)" })
        }
        #expect(receipts.callers.count == counts.count)
        #expect(counts.allSatisfy { receipts.callers["\($0)"]?.count == $1.count })
    }

    @Test("what a count keeps to find the caller with most receipts has a limit by the number of callers")
    func mostReceiptsRoom() throws {
        let (receipts, feature) = (ReceiptsByCaller(), try #require(FeatureID("chores:party")))
        var highest = 0
        for step in 0..<20_000 {
            receipts.add((.key("", feature: feature), 0, .zero), of: "\(step % 100)")
            if step % 100 >= 50 { receipts.removeFirst(of: "\(step % 100)") }
            highest = max(highest, receipts.entryCount)
        }
        #expect((1_000...1_224).contains(highest))
        #expect(receipts.most() == "0")
    }

    @Test("80: of callers with as many receipts, the one that has had them for the longest time loses its oldest")
    func asManyReceipts() throws {
        let fixture = try SpaceFixture(change: { $0.spaceReceiptBytes = 5_000 })
        var guests: [SpaceClient] = []
        while true {
            let guest = try fixture.guest()
            guard try guest.send(milk, key: "k").code == nil else { break }
            guests.append(guest)
            fixture.time.advance(by: .seconds(5))
        }
        #expect((6...11).contains(guests.count))
        fixture.time.advance(by: .seconds(60 - 5 * guests.count))
        #expect(try fixture.guest().send(milk, key: "k").code == nil)
        #expect(try fixture.guest().send(milk, key: "k").code == .tooManyReceipts)
        #expect(try guests[1].send(milk, key: "k").get().isReplayed)
    }

    @Test("receipts of a space expire in the order of their turns, also after some of a caller were dropped")
    func expiry() throws {
        let fixture = try SpaceFixture(change: { limits in
            (limits.receiptsPerSession, limits.receiptLife) = (2, .seconds(3_000))
        })
        let (ann, bob) = (try fixture.guest(), try fixture.guest())
        _ = try bob.send(milk, key: "old").get()
        for number in 1...6 {
            fixture.time.advance(by: .seconds(601))
            _ = try ann.send(milk, key: "\(number)").get()
        }
        #expect(try !bob.send(milk, key: "old").get().isReplayed)
        #expect(try ann.send(milk, key: "6").get().isReplayed)
        #expect(try ann.send(milk, key: "5").get().isReplayed)
        #expect(try fixture.space("party").core.withLock { $0.receipts.count } == 3)
    }

    @Test("80: at most 16 intents of a caller wait in a space, and no other caller is held up by that")
    func places() throws {
        let journal = HeldJournal(MemoryJournal())
        let fixture = try SpaceFixture(journal: journal)
        let (ann, bob) = (try fixture.guest(), try fixture.guest())
        _ = try ann.send(milk).get()
        let (space, chores) = (try fixture.space("party"), try #require(FeatureID("chores:party")))
        func send(_ client: SpaceClient) -> Box<IntentResult> {
            let answer = Box<IntentResult>()
            space.send(IntentRequest(body: Array(milk.utf8), client: client.client), to: chores) { answer.set($0) }
            return answer
        }
        journal.hold()
        let waiting = (1...16).map { _ in send(ann) }
        #expect(send(ann).value?.code == .busy)
        let other = send(bob)
        #expect(other.value == nil && waiting.allSatisfy { $0.value == nil })
        journal.release()
        #expect((waiting + [other]).allSatisfy { $0.value?.code == nil })
        #expect(try ann.send(milk).get().version == 20)
        #expect(space.core.withLock { $0.rare?.places } == nil)
    }

    @Test("80: at most 256 intents of an address wait in a space")
    func addresses() throws {
        let journal = HeldJournal(MemoryJournal())
        let fixture = try SpaceFixture(journal: journal)
        _ = try fixture.guest().send(milk).get()
        let (space, chores) = (try fixture.space("party"), try #require(FeatureID("chores:party")))
        let (near, far) = (try #require(PeerAddress("192.0.2.1")), try #require(PeerAddress("198.51.100.1")))
        func send(_ client: SpaceClient, _ address: PeerAddress) -> Box<IntentResult> {
            let answer = Box<IntentResult>()
            let client = SessionClient(address: address, caller: client.session)
            space.send(IntentRequest(body: Array(milk.utf8), client: client), to: chores) { answer.set($0) }
            return answer
        }
        journal.hold()
        let guests = try (0..<17).map { _ in try fixture.guest() }
        let answers = guests.flatMap { guest in (1...16).map { _ in send(guest, near) } }
        #expect(answers.count { $0.value?.code == .busy } == 16)
        #expect(try send(fixture.guest(), far).value == nil)
        journal.release()
        #expect(answers.count { $0.value?.code == nil } == 256)
    }

    @Test("91: an answer waits for no more than 64 streams")
    func wakes() throws {
        let executor = SteppedExecutor()
        let fixture = try SpaceFixture(executor: executor)
        let ann = try fixture.guest()
        for (list, count) in [("few", 64), ("many", 100)] {
            let counter = WakeCounter()
            let streams = try (0..<count).map { _ in try fixture.guest().stream(list) }
            for stream in streams {
                stream.stream.opened(counter)
                _ = try stream.events()
            }
            counter.count.withLock { $0 = 0 }
            _ = try ann.send(milk, to: list).get()
            #expect(counter.count.withLock { $0 } == (count > 64 ? 0 : count))
            var random = SplitMix(seed: 1)
            while executor.step(&random) {}
            #expect(counter.count.withLock { $0 } == count)
            for stream in streams { #expect(try stream.events().contains { $0.contains("milk") }) }
        }
    }
}

private final class WakeCounter: StreamWaker {
    let count = Lock(0)

    func wake() { count.withLock { $0 += 1 } }
}
