import Testing

@testable import MicroHTTP

@Suite struct TimerWheelTests {
    @Test func `A deadline is due at its time, not before`() {
        var wheel = TimerWheel(granularity: 10, slotCount: 8, now: 1_000)
        wheel.insert(1, at: 1_025)
        #expect(wheel.nextDeadline == 1_030)
        #expect(wheel.advance(to: 1_029) == [])
        #expect(wheel.advance(to: 1_030) == [1])
        #expect(wheel.advance(to: 2_000) == [])
        #expect(wheel.nextDeadline == nil)
    }

    @Test func `A deadline beyond one turn of the wheel waits for its own turn`() {
        var wheel = TimerWheel(granularity: 10, slotCount: 8, now: 0)
        wheel.insert(1, at: 250)
        wheel.insert(2, at: 10)
        #expect(wheel.advance(to: 100) == [2])
        #expect(wheel.advance(to: 240) == [])
        #expect(wheel.advance(to: 250) == [1])
    }

    @Test func `A deadline that has passed is due at the next tick`() {
        var wheel = TimerWheel(granularity: 10, slotCount: 8, now: 1_000)
        wheel.insert(1, at: 3)
        #expect(wheel.nextDeadline == 1_010)
        #expect(wheel.advance(to: 1_010) == [1])
    }

    @Test func `After a long sleep everything that is due is reported once`() {
        var wheel = TimerWheel(granularity: 10, slotCount: 8, now: 0)
        for id in 1...100 { wheel.insert(UInt64(id), at: UInt64(id) * 7) }
        let due = wheel.advance(to: 500)
        #expect(Set(due) == Set((1...71).map(UInt64.init)))
        #expect(due.count == 71)
        #expect(Set(wheel.advance(to: 100_000)) == Set((72...100).map(UInt64.init)))
    }

    @Test func `The next look is never after the earliest deadline`() throws {
        var wheel = TimerWheel(granularity: 10, slotCount: 8, now: 0)
        wheel.insert(1, at: 500)
        wheel.insert(2, at: 45)
        var reported: [UInt64] = []
        while let next = wheel.nextDeadline {
            #expect(next <= (reported.isEmpty ? 50 : 500))
            reported += wheel.advance(to: next)
        }
        #expect(reported == [2, 1])
    }

    @Test func `The next look is the earliest slot with a deadline, whatever was looked for before`() {
        var seed: UInt64 = 7
        func random() -> UInt64 {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return seed >> 33
        }
        var wheel = TimerWheel(granularity: 10, slotCount: 8, now: 0)
        var (now, deadlines) = (0 as UInt64, [UInt64: UInt64]())
        for id in 0..<2_000 as Range<UInt64> {
            if random() % 3 > 0 {
                deadlines[id] = (now + 1 + random() % 300 + 9) / 10
                wheel.insert(id, at: (deadlines[id] ?? 0) * 10)
            }
            // The turn of a deadline's slot: the first tick from the next one on that has the same slot.
            let reached = now / 10
            let expected = deadlines.values.map { reached + 1 + ($0 - reached - 1) % 8 }.min().map { $0 * 10 }
            #expect(wheel.nextDeadline == expected)
            if random() % 2 == 0 {
                now += random() % 60
                let due = Set(wheel.advance(to: now))
                #expect(due == Set(deadlines.filter { $0.value <= now / 10 }.keys))
                for id in due { deadlines[id] = nil }
            }
        }
    }

    @Test func `The memory of a burst is freed after its deadlines`() {
        var wheel = TimerWheel(granularity: 10, slotCount: 8, now: 0)
        for burst in 0..<8 as Range<UInt64> {
            for id in 0..<1_000 as Range<UInt64> { wheel.insert(id, at: burst * 10 + 10) }
            // One that is not due yet stays, and must not keep the others' memory.
            wheel.insert(1_000, at: burst * 10 + 90)
            #expect(wheel.advance(to: burst * 10 + 10).count >= 1_000)
        }
        #expect(wheel.room < 100)
        #expect(wheel.advance(to: 1_000).count == 8)
    }
}
