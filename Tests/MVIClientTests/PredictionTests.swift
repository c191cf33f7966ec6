import Testing
import WireJSON

@testable import MVIClient

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The rules that all clients follow: `Clients/Conformance/predictions.json`.
struct PredictionVector: Decodable, Sendable, CustomTestStringConvertible {
    struct Event: Decodable, Sendable {
        let version: Int?
        let from: Int?
        let to: Int?
        let intent: String?
        let ids: [String]
    }

    struct Step: Decodable, Sendable {
        // One of these.
        let state: Event?
        let patch: Event?
        let label: String?
        let tap: String?
        let taps: Int?
        let answer: Int?
        let refuse: Int?
        let busy: Int?
        let lost: Bool?
        let limited: Bool?
        let repeated: Bool?
        let wait: Int?
        let reset: Bool?
        let hello: String?
        let end: Bool?
        let denied: Bool?
        let unwatch: Bool?
        let retry: String?
        let dismiss: String?
        // The expectations.
        let shows: [String]?
        let confirmed: [String]?
        let version: UInt64?
        let pending: [[String]]?
        let labels: [String]?
        let pendingCount: Int?
        let shownCount: Int?
    }

    let name: String
    let steps: [Step]

    var testDescription: String { name }

    private struct File: Decodable { let vectors: [PredictionVector] }

    static let all: [PredictionVector] = {
        let path = #filePath.components(separatedBy: "/Tests/")[0] + "/Clients/Conformance/predictions.json"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8),
            let file = try? WireJSON.decode(File.self, from: Array(text.utf8))
        else { return [] }
        return file.vectors
    }()
}

@Suite("Predicted intents")
struct PredictionTests {
    @Test func `the vectors are there`() { #expect(PredictionVector.all.count > 30) }

    @Test(arguments: PredictionVector.all)
    func `the vectors of all clients hold`(vector: PredictionVector) throws {
        var store = try PredictionPlay(delta: .mergePatch, random: 0)
        for (index, step) in vector.steps.enumerated() {
            try perform(step, on: &store)
            let place: Comment = "after step \(index)"
            if let ids = step.shows { #expect(store.book.shown?.ids ?? [] == ids, place) }
            if let ids = step.confirmed { #expect(store.book.confirmed?.ids ?? [] == ids, place) }
            if let version = step.version { #expect(store.book.version == version, place) }
            if let pending = step.pending {
                #expect(store.book.entries.map { [$0.key, "\($0.status)"] } == pending, place)
            }
            if let labels = step.labels { #expect(store.labels == labels, place) }
            if let count = step.pendingCount { #expect(store.book.entries.count == count, place) }
            if let count = step.shownCount { #expect(store.book.shown?.ids.count == count, place) }
        }
    }

    private func perform(_ step: PredictionVector.Step, on store: inout PredictionPlay) throws {
        if let event = step.state { try store.state(event.version ?? 0, event.ids, intent: event.intent) }
        if let event = step.patch {
            try store.patch(from: event.from ?? 0, to: event.to ?? 0, event.ids, intent: event.intent)
        }
        if let label = step.label {
            try store.event("label", #"{"feature":"list","version":1,"id":"\#(label)","label":"\#(label)"}"#)
        }
        if let id = step.tap { store.send(id, type: id == "plain" ? "note" : "add") }
        for number in 0..<(step.taps ?? 0) { store.send("t\(number)") }
        if let version = step.answer { try store.answer(version: version) }
        if let status = step.refuse { try store.refuse(status) }
        if let status = step.busy {
            try store.refuse(status, "busy")
            try awaitAttempt(of: &store)
        }
        if step.lost != nil {
            try store.lose()
            try awaitAttempt(of: &store)
        }
        if step.limited != nil { try store.refuse(429, "too-many-requests") }
        if step.repeated != nil { try awaitAttempt(of: &store) }
        if let milliseconds = step.wait { store.advance(by: .milliseconds(milliseconds)) }
        if step.reset != nil { try store.event("reset", #"{"reason":"expired","labelsLost":false}"#) }
        if let epoch = step.hello { try store.hello(epoch: epoch) }
        if step.end != nil { try store.event("end", #"{"feature":"list"}"#) }
        if step.denied != nil { try store.event("denied", #"{"feature":"list"}"#) }
        if step.unwatch != nil { store.unwatch() }
        if let id = step.retry { store.retry(id) }
        if let id = step.dismiss { store.book.dismiss(id) }
    }

    private func awaitAttempt(of store: inout PredictionPlay) throws {
        for _ in 0..<9 where store.inFlight == nil { store.advance(by: .milliseconds(100)) }
        _ = try #require(store.inFlight, "it was sent again")
    }

    // MARK: Random runs

    /// A server's list, which intents and other writers change.
    private struct World {
        var version = 1
        var ids: [String] = []
        var intent: String?
        var receipts: [String: Int] = [:]
        /// The version that the stream has shown; nil if none.
        var sent: Int?
        var others = 0

        mutating func add(_ id: String, _ key: String) {
            version += 1 + id.count % 2
            ids.append(id)
            intent = key
        }

        mutating func run(_ key: String) -> Int {
            if receipts[key] == nil {
                add(key, key)
                receipts[key] = version
            }
            return receipts[key] ?? 0
        }

        mutating func flush(_ store: inout PredictionPlay, _ chance: inout Chance) throws {
            guard store.play.connection.stream.open?.isLive == true, sent != version else { return }
            if let sent, chance.picks(0.5) {
                try store.patch(from: sent, to: version, ids, intent: intent)
            } else {
                try store.state(version, ids, intent: intent)
            }
            sent = version
        }
    }

    /// Holds the shown list against the rules after each step.
    private struct Watch {
        var shown: [String] = []
        var since: [String: Duration] = [:]
        var dismissed: Set<String> = []
        var mayReset = false
        var stepsBack = 0

        mutating func check(_ store: PredictionPlay) throws {
            let (ids, confirmed) = (store.book.shown?.ids ?? [], store.book.confirmed?.ids ?? [])
            try #require(Set(ids).count == ids.count, "an id is shown twice: \(ids)")
            try #require(Array(ids.prefix(confirmed.count)) == confirmed, "the server's list comes first")
            let order = store.book.entries.map(\.key)
            let places = ids.dropFirst(confirmed.count).map { order.firstIndex(of: $0) ?? -1 }
            try #require(places == places.sorted() && !places.contains(-1), "\(ids) \(order)")
            for id in shown where !ids.contains(id) {
                let isFailed = store.book.entries.contains { $0.key == id && $0.status == .failed }
                if isFailed || mayReset || dismissed.contains(id) { continue }
                try #require(store.play.now - (since[id] ?? .zero) >= .seconds(1), "\(id) disappeared early")
                stepsBack += 1
            }
            shown = ids
            for id in ids where since[id] == nil { since[id] = store.play.now }
        }
    }

    /// The number of taps, and of those that stepped back.
    private func run(seed: UInt64) throws -> (taps: Int, stepsBack: Int) {
        var chance = Chance(seed: seed)
        var (store, world, watch) = (try PredictionPlay(delta: .mergePatch, random: chance.next()), World(), Watch())
        var taps = 0
        func reopen(_ epoch: String?) throws {
            try store.hello(epoch: epoch ?? store.play.connection.session.epoch ?? "e1")
            world.sent = nil
        }
        func answer(_ roll: Double) throws {
            guard let key = store.inFlight?.key else { return }
            switch roll {
            case ..<0.06: return try store.lose()
            case ..<0.12:
                _ = world.run(key)
                return try store.lose()
            case ..<0.25: return try store.refuse(503, "overloaded")
            case ..<0.3: return try store.refuse(429, "too-many-requests")
            case ..<0.38 where world.receipts[key] == nil: return try store.refuse(422)
            default: break
            }
            let version = world.run(key)
            // The stream is woken before the answer is sent, or after it.
            if chance.picks(0.5) { try world.flush(&store, &chance) }
            try store.answer(version: version)
        }
        for _ in 0..<60 {
            switch chance.next() {
            case ..<0.3:
                taps += 1
                store.send("\(taps)")
            case ..<0.55: try answer(chance.next())
            case ..<0.75: try world.flush(&store, &chance)
            case ..<0.83:
                world.others += 1
                world.add("o\(world.others)", "other\(world.others)")
            case ..<0.86: try reopen(nil)
            case ..<0.95: store.advance(by: .milliseconds(Int(chance.next() * 250)))
            case ..<0.952: store.advance(by: .milliseconds(1_500))
            case ..<0.965 where store.play.connection.stream.open?.isLive == true:
                watch.mayReset = true
                try store.event("reset", #"{"reason":"expired","labelsLost":false}"#)
                world.sent = nil
            case ..<0.975:
                // A server that was restored: the log is another, the receipts are kept.
                watch.mayReset = true
                try reopen("e\(Int(chance.next() * 1_000_000))")
            default:
                guard let failed = store.book.entries.first(where: { $0.status == .failed }) else { continue }
                if chance.picks(0.5) {
                    store.retry(failed.key)
                } else {
                    watch.dismissed.insert(failed.key)
                    store.book.dismiss(failed.key)
                }
            }
            try watch.check(store)
        }
        for _ in 0..<400 {
            try answer(1)
            if store.play.connection.stream.open?.isLive != true { try reopen(nil) }
            try world.flush(&store, &chance)
            store.advance(by: .milliseconds(500))
            try watch.check(store)
            let isOver = store.book.entries.allSatisfy { $0.status == .failed } && store.inFlight == nil
            if isOver, store.book.version == UInt64(world.version) { break }
        }
        try #require(store.book.shown?.ids == world.ids, "at rest")
        return (taps, watch.stepsBack)
    }

    @Test func `the rules hold in random runs`() throws {
        let count = ProcessInfo.processInfo.environment["MVI_PREDICTION_SEEDS"].flatMap { UInt64($0) } ?? 500
        var (taps, stepsBack) = (0, 0)
        for seed in 1...count {
            do {
                let run = try run(seed: seed)
                (taps, stepsBack) = (taps + run.taps, stepsBack + run.stepsBack)
            } catch {
                Issue.record("seed \(seed): \(error)")
                return
            }
        }
        #expect(stepsBack * 100 <= taps, "\(stepsBack) steps back of \(taps) taps")
        print("\(taps) taps, \(stepsBack) steps back")
    }
}
