import MVITesting
import TestSupport
import Testing

@testable import minimal

@Suite("The smallest server")
struct MinimalTests {
    @Test func `its feature counts`() async {
        let store = TestStore(Tally())
        await store.send(.add(amount: 5)) { $0.count = 5 }
        await store.send(.increment) { $0.count = 6 }
        await store.finish()
    }

    @Test func `every intent has an example`() { checkExamples(of: Tally.self) }

    @Test(.timeLimit(.minutes(5)))
    func `each command of its README prints the shown output`() async throws {
        try await expectPage("\(#filePath)".replacing(#/Tests/[A-Za-z]*.swift$/#, with: "README.md"), commands: 3)
    }
}
