import TestSupport
import Locking
import MVI
import MVITesting
import SessionJournal
import Sessions
import Testing

@Suite("The number of stores of a session")
struct StoreLimitTests {
    @Test("in a full session a store that was not used for long, and that nobody waits for, gives way")
    func unusedStoreGivesWay() throws {
        let fixture = try Fixture { limits in
            limits.storesPerSession = 3
            limits.passivateAfter = .seconds(60)
        }
        func send(_ key: String) throws -> String? {
            _ = try fixture.table.found(fixture.token)
            return try fixture.send(#"{"type":"rename","to":"x"}"#, to: FeatureID("keyed:\(key)")).refusal
        }
        for key in ["a", "b", "c"] {
            #expect(try send(key) == nil)
            fixture.time.advance(by: .seconds(1))
        }
        let stream = try fixture.stream("keyed:a")
        fixture.time.advance(by: .seconds(20 * 3600))
        fixture.table.sweep(part: 1)
        // None was unused for a day.
        #expect(try send("d") == "tooManyStores")
        fixture.time.advance(by: .seconds(5 * 3600))
        // A stream shows the oldest one.
        #expect(try send("d") == nil)
        #expect(fixture.session.storeIDs.map(\.text) == ["keyed:a", "keyed:c", "keyed:d"])
        #expect(try send("e") == nil)
        #expect(fixture.session.storeIDs.map(\.text) == ["keyed:a", "keyed:d", "keyed:e"])
        #expect(try send("f") == "tooManyStores")
        stream.stream.closed()
        // It comes back as a new one.
        #expect(try send("b") == "tooManyStores")
    }

    @Test("52: beyond a number of stores in memory the least recently used leave it, and come back as they were")
    func loadedStores() throws {
        let fixture = try Fixture { $0.loadedStores = 4 }
        func send(_ key: Int, _ text: String) throws {
            _ = try fixture.table.found(fixture.token)
            try fixture.send(#"{"type":"rename","to":"\#(text)"}"#, to: FeatureID("keyed:\(key)"))
        }
        for key in 0..<50 {
            try send(key, "name \(key)")
            fixture.time.advance(by: .seconds(1))
        }
        fixture.table.sweep(part: 1)
        #expect(fixture.session.storesInMemory.map(\.feature.text) == (46...49).map { "keyed:\($0)" })
        let stream = try fixture.stream()
        func shown() throws -> [String] { try stream.read().named("state").compactMap { try $0.json.feature }.sorted() }
        #expect(try shown() == (46...49).map { "keyed:\($0)" })
        try send(3, "again")
        #expect(try shown() == ["keyed:3"])
        #expect(fixture.session.storeIDs.count == 50)
    }
}
