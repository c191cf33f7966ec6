import DemoFeatures
import Logging
import TestSupport
import Testing

@testable import MVIServer

/// Validates a server's states, labels and intents with its schemas and Python's jsonschema.
@Suite("Real states, intents and labels", .timeLimit(.minutes(10)))
struct RealValuesTests {
    @Test(.enabled(if: Tool.python != nil))
    func `fit their schemas; other values are refused by both schema and server`() async throws {
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let demo = try Demo(databasePath: nil, logger: logger)
        var settings = ServerSettings()
        settings.port = 0
        let assembly = try Assembly(demo.features, settings: settings, logger: logger)
        try assembly.http.start()
        let script = "\(#filePath)".replacing(#/\/Types\/[^\/]*$/#, with: "/Types/Files/validate.py")
        let result = try await #require(Tool.python).output([
            script, "\(assembly.http.port)", "lesson-detail:8", "order-detail:42", "checklist:party",
        ])
        await assembly.http.shutdown(grace: .zero)
        #expect(result.code == 0, "\(result.text)")
        #expect(result.text.hasPrefix("6 features, 22 intents, "), "\(result.text)")
    }
}
