import TestSupport
import Testing

/// Runs the commands of the example's README and compares their output, except ids, times and random numbers.
@Suite("The curl session of the migration's README", .timeLimit(.minutes(10)))
struct ReadmeTests {
    @Test func `each command prints the shown output`() async throws {
        let page = "\(#filePath)".replacing(#/Tests/ReadmeTests.swift$/#, with: "README.md")
        try await expectPage(page, commands: 8)
    }
}
