import TestSupport
import Testing

/// Runs the commands of an example's README and compares their output, except ids, times and random numbers.
@Suite("The curl sessions of the examples' READMEs", .timeLimit(.minutes(10)))
struct ExampleReadmeTests {
    @Test(arguments: [("Shop", 14), ("Desk", 7)])
    func `each command prints the shown output`(example: String, commands: Int) async throws {
        let page = "\(#filePath)".replacing(#/Tests/[A-Za-z/]*.swift$/#, with: "Examples/\(example)/README.md")
        try await expectPage(page, commands: commands, variables: ["MVI_DATA": "data"])
    }
}
