import TestSupport
import Testing

/// The commands of the example's README give what it shows, but for ids, times and numbers left to chance.
@Suite("The curl session of the migration's README", .timeLimit(.minutes(10)))
struct ReadmeTests {
    @Test func `each command prints the shown output`() async throws {
        let page = "\(#filePath)".replacing(#/Tests/ReadmeTests.swift$/#, with: "README.md")
        try await expectPage(page, commands: 8)
    }
}
