import Locking
import MVI
import MVITesting
import Sessions
import Testing

@testable import MVIServer

/// A ticket of a support desk.
private struct Ticket: Feature {
    struct State: Codable, Equatable, Sendable { var text = "" }
    enum Intent: Codable, Sendable { case write(text: String) }

    static let examples: [Intent] = [.write(text: "a")]
    let initialState = State()

    func reduce(_ state: inout State, _ intent: Intent) {
        if case .write(let text) = intent { state.text = text }
    }
}

@Suite("A session with many stores", .timeLimit(.minutes(5)))
struct ManyStoresTests {
    @FeatureBuilder private static func tickets() -> ServerContent {
        Keyed { _ in Ticket() }
    }

    @Test("of 1,100 stores opened one after the other the last are refused; the list's stream and the others go on")
    func refused() async throws {
        try await TestServer.run(.memory, content: { _ in Self.tickets() }, { $0.intentRate = 0 }) { server in
            let session = try await server.session()
            let live = try server.live(session)
            let opened = Lock<SessionStream?>(nil)
            live.openStream(.features([FeatureID(name: "ticket", key: "list")]), from: .now) { result in
                opened.withLock { $0 = try? result.get() }
            }
            let stream = try #require(opened.withLock { $0 })
            while case .write = stream.nextStep() {}
            var refused: [Int] = []
            for number in 1...1_100 {
                let intent = #"{"type":"write","text":"text \#(number)"}"#
                let answer = try await server.send(session.intent(intent, to: "ticket:\(number)"))
                if answer.status == 409 { refused.append(number) } else { #expect(answer.status == 202) }
                #expect(answer.problem == (answer.status == 409 ? "too-many-stores" : nil))
                if number.isMultiple(of: 100) { server.sessions.sweep(part: 1) }
            }
            // The list has one of the 1,000 places.
            #expect(refused == Array(1_000...1_100))
            #expect(live.storesInMemory.count == 64)
            for number in [1, 500, 999] {
                let state = try await server.send(session.request("GET", "/features/ticket:\(number)/state"))
                #expect(try state.json(Ticket.State.self).text == "text \(number)")
            }
            _ = try await server.send(session.intent(#"{"type":"write","text":"live"}"#, to: "ticket:list"))
            guard case .writeAll(let bytes) = stream.nextStep() else {
                Issue.record("the stream shows nothing")
                return
            }
            #expect(String(decoding: bytes, as: UTF8.self).contains(#""text":"live""#))
            stream.closed()
            // A day later one that nobody used gives way.
            server.time.advance(by: .seconds(20 * 3600))
            _ = try await server.send(session.request("GET", "/features/ticket:1/state"))
            server.time.advance(by: .seconds(5 * 3600))
            let late = try await server.send(session.request("GET", "/features/ticket:1100/state"))
            #expect(late.status == 200 && live.storeIDs.count == 1_000)
            #expect(live.hasStore(FeatureID(name: "ticket", key: "1")))
        }
    }
}
