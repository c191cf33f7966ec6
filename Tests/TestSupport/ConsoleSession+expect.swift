import Testing

/// Types a page's commands and expects what it shows, but for ids, times and numbers left to chance.
///
/// - Parameters:
///   - part: see `ConsoleSession.init`.
///   - commands: how many the page has, so that none is overlooked.
///   - port: where a server listens already; nil for a page that starts its own.
///   - variables: of the shell's environment.
public func expectPage(
    _ path: String, part: String? = nil, commands: Int, port: UInt16? = nil, variables: [String: String] = [:],
    sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    let (shown, given) = try await offThePool {
        let session = try ConsoleSession(page: path, part: part)
        let port = port ?? UInt16.random(in: 20_000..<30_000)
        return (session.steps, try session.run(port: port, variables: variables))
    }
    #expect(shown.count == commands, sourceLocation: sourceLocation)
    for (shown, given) in zip(shown, given) { #expect(given.plain == shown.plain, sourceLocation: sourceLocation) }
}
