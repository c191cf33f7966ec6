import MVI
import MVITesting
import Testing

@testable import NewServer

@Suite struct TallyTests {
    @Test func `a full dozen publishes a label`() async {
        let store = TestStore(Tally())
        await store.send(.add(amount: 11)) { $0.count = 11 }
        await store.send(.increment) { $0.count = 12 }
        await store.expect(.dozen(count: 12))
        await store.finish()
    }

    @Test func `amounts out of range are refused`() async {
        let store = TestStore(Tally())
        for amount in [0, 101] {
            await store.sendRejected(.add(amount: amount), .invalid, code: "amount", pointers: ["/amount"])
        }
        await store.finish()
    }

    @Test func `every intent and label has an example`() { checkExamples(of: Tally.self) }
}
