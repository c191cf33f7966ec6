import DemoFeatures
import Logging
import TestSupport
import Testing

@testable import MVIServer

/// Runs the commands of the README and of the contract and compares their output, except ids, times and random numbers.
@Suite("The curl sessions with the demo", .timeLimit(.minutes(10)))
struct ReadmeTests {
    @Test(arguments: [("README.md", 6), ("docs/http.md", 1)])
    func `each command prints the shown output`(page: String, count: Int) async throws {
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let demo = try Demo(databasePath: nil, logger: logger)
        var settings = ServerSettings()
        settings.port = 0
        let assembly = try Assembly(demo.features, settings: settings, logger: logger)
        try assembly.http.start()
        let port = assembly.http.port
        let path = "\(#filePath)".replacing(#/Tests/CommandTests/.*$/#, with: page)
        try await expectPage(path, part: "curl session", commands: count, port: port)
        // Ends the stream.
        assembly.sessions.drain()
        await assembly.http.shutdown(grace: .zero)
    }
}
