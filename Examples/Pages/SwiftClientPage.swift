// The code of docs/swift-client.md, except SwiftUI's.
// snippet.hide
import Foundation
// snippet.show
import MVIClient

struct CounterState: Codable, Equatable, Sendable { var count = 0 }
enum CounterIntent: Codable, Sendable { case increment, add(amount: Int) }
enum CounterLabel: Codable, Equatable, Sendable { case milestone(count: Int) }
typealias CounterStore = RemoteStore<CounterState, CounterIntent, CounterLabel>

// snippet.hide
@MainActor
func watchCounter() async throws {
    // snippet.show
    // swift-format-ignore: NeverForceUnwrap
    let server = RemoteServer(URL(string: "https://example.org")!)
    let counter = CounterStore("counter", on: server)

    for await state in counter.states { print(state.count) }  // in a task
    for await label in counter.labels { print(label) }  // in another
    try await counter.send(.add(amount: 10))
    // snippet.hide
}

func predictTally(on server: RemoteServer) {
    // snippet.show
    let tally = CounterStore("tally", on: server) { state, intent in
        if case .add(let amount) = intent { state.count += amount }
    }
    // snippet.hide
    tally.post(.add(amount: 5))
}
// snippet.show

struct Keychain: CredentialStorage {
    let read: @Sendable () throws -> String?  // throws while the keychain is locked: no session is lost
    let write: @Sendable (String?) throws -> Void  // nil removes it

    func load() async throws -> String? { try read() }
    func save(_ credential: String?) async throws { try write(credential) }
}
