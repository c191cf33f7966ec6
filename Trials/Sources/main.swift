// Servers for trials and benchmarks, with the settings of the environment (MVI_PORT, …).
//
//   trial-server blocking                    a feature whose handler does not return
//   trial-server reminding                   a feature that rings at a set time
//   trial-server sized                       features whose states have any size
//   trial-server notes                       a feature that keeps texts, for whom everybody says to be
//   trial-server sum [shared|ruled]          a sum of each session, or one that all share, also under a rule
//   trial-server letters                     sessions that tell boards letters
//   trial-server line [open]                 a waitlist with an audience for each guest, or of which all see the same
//   trial-server nodes PROCESS VERSION       one of several nodes: this process's recorded name, Tally's version
import Logging
import MVIServer
import PostgresJournal
import PostgresServer
import SessionJournal

private let arguments = Array(CommandLine.arguments.dropFirst())
switch (arguments.first, arguments.count) {
case ("blocking", 1): try await FeatureServer { Blocking() }.run()
case ("reminding", 1):
    let fired = Fired()
    try await FeatureServer {
        Alarm(fired: fired)
        Endpoint(.get, "/fired", summary: "The number of fired reminders.") { _, _ in
            .text("\(fired.count.load(ordering: .relaxed))\n")
        }
    }.run()
case ("sized", 1):
    try await FeatureServer {
        Keyed { key in Sized(key: key) }
        Keyed { key in Rows(key: key) }
    }.run()
case ("sum", 1): try await FeatureServer { Tally() }.run()
case ("sum", 2):
    let isRuled = arguments[1] == "ruled"
    try await FeatureServer {
        if isRuled {
            Shared { Tally() }.allows { who, _, access in access != .dispose && who == nil }
        } else {
            Shared { Tally() }.allows(.everyone)
        }
    }.run()
case ("notes", 1): try await runNode(authenticator: AnyName()) { Notes() }
case ("letters", 1):
    try await runNode {
        Letters()
        Shared { _ in Board() }.allows(.everyone)
    }
case ("line", 1): try await FeatureServer(authenticator: AnyName()) { Shared { Line() }.allows(.everyone) }.run()
case ("line", 2): try await FeatureServer(authenticator: AnyName()) { Shared { OpenLine() }.allows(.everyone) }.run()
case ("nodes", 3):
    let (process, version) = (arguments[1], arguments[2])
    try await runNode {
        Steps(process: process)
        if version == "1" { Tally() } else { NextTally() }
    }
default:
    fatalError(
        "trial-server blocking | reminding | sized | notes | letters | sum [shared|ruled] | line [open] | nodes PROCESS VERSION"
    )
}

/// Serves on the journal of the settings, also on one that nodes share.
private func runNode(
    authenticator: (any Authenticator)? = nil, @FeatureBuilder _ content: () throws -> ServerContent
) async throws {
    let settings = try ServerSettings.load()
    var logger = Logger(label: "trial-server")
    logger.logLevel = settings.logLevel
    var journal: (any ServerJournal)?
    if case .postgres(let url) = settings.journal {
        journal = try await PostgresJournal.open(
            database: url, schema: settings.journalSchema, connections: settings.journalConnections,
            forgottenList: settings.forgottenList, logger: logger, sessionLimit: settings.maxKeptSessions,
            spaceLimit: settings.maxSpaces)
    }
    try await FeatureServer(
        settings: settings, logger: logger, journal: journal, authenticator: authenticator,
        peers: journal == nil ? nil : HTTPPeerTransport(), content: content
    ).run()
}
