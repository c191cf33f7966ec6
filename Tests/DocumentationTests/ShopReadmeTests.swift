import TestSupport
import Testing

/// Runs the commands of the example's README and compares their output, except ids, times and random numbers.
@Suite("The curl session of the shop's README", .timeLimit(.minutes(10)))
struct ShopReadmeTests {
    @Test func `each command prints the shown output`() async throws {
        let page = "\(#filePath)".replacing(#/Tests/[A-Za-z/]*.swift$/#, with: "Examples/Shop/README.md")
        try await expectPage(page, commands: 14, variables: ["MVI_DATA": "data"])
    }
}
