// The code of docs/swift-client.md.
// snippet.hide
import Foundation

#if canImport(SwiftUI)
    import SwiftUI
#endif
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
// snippet.show

struct Keychain: CredentialStorage {
    let read: @Sendable () throws -> String?  // throws while the keychain is locked: no session is lost
    let write: @Sendable (String?) throws -> Void  // nil removes it

    func load() async throws -> String? { try read() }
    func save(_ credential: String?) async throws { try write(credential) }
}

#if canImport(SwiftUI)
    struct CounterScreen: View {
        @State private var counter: CounterStore
        @State private var toast: String?

        init(server: RemoteServer) {
            _counter = State(wrappedValue: CounterStore("counter", on: server))
        }

        var body: some View {
            Group {
                if let state = counter.state {
                    CounterView(state: state) { counter.post($0) }
                } else {
                    ProgressView()
                }
            }
            .task { await counter.watch() }
            .task {
                for await label in counter.labels {
                    switch label {
                    case .milestone(let count): toast = "\(count)!"
                    }
                }
            }
            .alert(toast ?? "", isPresented: Binding(get: { toast != nil }, set: { if !$0 { toast = nil } })) {}
        }
    }

    struct CounterView: View {
        let state: CounterState
        let send: (CounterIntent) -> Void

        var body: some View { Button("\(state.count)") { send(.increment) } }
    }
#endif
