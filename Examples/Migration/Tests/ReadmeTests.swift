import TestSupport
import Testing

/// The commands of the example's README give what it shows, but for ids, times and numbers left to chance.
@Suite("The curl session of the migration's README", .timeLimit(.minutes(10)))
struct ReadmeTests {
    @Test func `each command gives what is shown`() async throws {
        let page = "\(#filePath)".replacing(#/Tests/ReadmeTests.swift$/#, with: "README.md")
        let (shown, given) = try await offThePool {
            let session = try ConsoleSession(page: page)
            return (session.steps, try session.run(port: UInt16.random(in: 20_000..<30_000)))
        }
        #expect(shown.count == 8 && shown.count(where: \.isStream) == 2)
        for (shown, given) in zip(shown, given) { #expect(given.plain == shown.plain) }
    }
}
