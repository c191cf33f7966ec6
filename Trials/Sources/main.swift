// Servers for trials and benchmarks, with the settings of the environment (MVI_PORT, …).
//
//   trial-server blocking                    a feature whose handler does not return
//   trial-server reminding                   a feature that rings at a set time
//   trial-server sized                       features whose states have any size
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
