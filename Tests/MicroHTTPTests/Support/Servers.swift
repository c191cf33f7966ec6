import Glibc
import Logging
import MicroHTTP
import Testing

/// Tests of this target run one at a time: some count the process's descriptors.
@Suite(.serialized) enum MicroHTTPSuites {}

/// Runs `body` with a started server, shuts it down, and checks that nothing remains.
func withServer(
    _ handler: any RequestHandler, grace: Duration = .seconds(10),
    configure: (inout HTTPServerConfiguration) -> Void = { _ in },
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (HTTPServer) async throws -> Void
) async throws {
    var configuration = HTTPServerConfiguration()
    configuration.threads = 2
    configure(&configuration)
    let server = HTTPServer(configuration: configuration, logger: silent, handler: handler)
    try server.start()
    do {
        try await body(server)
    } catch {
        await server.shutdown(grace: .zero)
        throw error
    }
    await server.shutdown(grace: grace)
    #expect(server.statistics == HTTPServerStatistics(), sourceLocation: sourceLocation)
}

let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

/// Waits for an effect on the server's threads by polling. Fails after ten seconds.
func eventually(
    _ what: @autoclosure () -> String, sourceLocation: SourceLocation = #_sourceLocation, _ condition: () -> Bool
) async throws {
    let deadline = ContinuousClock.now + .seconds(10)
    while !condition() {
        try #require(ContinuousClock.now < deadline, "not within 10 s: \(what())", sourceLocation: sourceLocation)
        await Task.yield()
    }
}

/// Returns the number of open descriptors of this process.
func openDescriptors() -> Int {
    guard let directory = opendir("/proc/self/fd") else { return -1 }
    defer { closedir(directory) }
    var count = 0
    while readdir(directory) != nil { count += 1 }
    return count
}
