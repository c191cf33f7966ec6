// Servers for trials and benchmarks; their settings are the environment's (MVI_PORT, …).
//
//   trial-server blocking                    a feature whose handler does not return
//   trial-server reminding                   one that rings at a time
//   trial-server sized                       those whose states have any size
//   trial-server nodes PROCESS VERSION       a node of several: the name that this process writes down, and the version of Tally
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
        Endpoint(.get, "/fired", summary: "How many reminders have fired.") { _, _ in
            .text("\(fired.count.load(ordering: .relaxed))\n")
        }
    }.run()
case ("sized", 1):
    try await FeatureServer {
        Keyed { key in Sized(key: key) }
        Keyed { key in Rows(key: key) }
    }.run()
case ("nodes", 3): try await runNode(arguments[1], version: arguments[2])
default: fatalError("trial-server blocking | reminding | sized | nodes PROCESS VERSION")
}

private func runNode(_ process: String, version: String) async throws {
    let settings = try ServerSettings.load()
    var logger = Logger(label: "trial-server")
    logger.logLevel = settings.logLevel
    var journal: (any ServerJournal)?
    if case .postgres(let url) = settings.journal {
        journal = try await PostgresJournal.open(
            database: url, schema: settings.journalSchema, connections: settings.journalConnections, logger: logger,
            sessionLimit: settings.maxKeptSessions)
    }
    try await FeatureServer(
        settings: settings, logger: logger, journal: journal, peers: journal == nil ? nil : HTTPPeerTransport()
    ) {
        Steps(process: process)
        if version == "1" { Tally() } else { NextTally() }
    }.run()
}
