import Testing

/// Runs a page's commands and compares their output with the page, except ids, times and random numbers.
///
/// - Parameters:
///   - part: see `ConsoleSession.init`.
///   - commands: the number of commands on the page, so that none is overlooked.
///   - port: the port of a running server; nil if the page starts its own.
///   - variables: variables of the shell's environment.
///   - files: the paths of files that the commands find in their folder.
public func expectPage(
    _ path: String, part: String? = nil, commands: Int, port: UInt16? = nil, variables: [String: String] = [:],
    files: [String] = [], sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    let (shown, given) = try await offThePool {
        let session = try ConsoleSession(page: path, part: part)
        let port = port ?? UInt16.random(in: 20_000..<30_000)
        return (session.steps, try session.run(port: port, variables: variables, files: files))
    }
    #expect(shown.count == commands, sourceLocation: sourceLocation)
    for (shown, given) in zip(shown, given) { #expect(given.plain == shown.plain, sourceLocation: sourceLocation) }
}
