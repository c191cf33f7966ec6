import TestSupport
import Testing

/// The commands of the example's README give what it shows, but for ids, times and numbers left to chance.
@Suite("The curl session of the shop's README", .timeLimit(.minutes(10)))
struct ShopReadmeTests {
    @Test func `each command gives what is shown`() async throws {
        let page = "\(#filePath)".replacing(#/Tests/[A-Za-z/]*.swift$/#, with: "Examples/Shop/README.md")
        try await expectPage(page, commands: 14, variables: ["MVI_DATA": "data"])
    }
}
