// A server as a node of several, with features for script/trial nodes; its settings are the environment's (MVI_PORT, …).
//
//   node-server PROCESS VERSION      the name that this process writes down, and the version of Tally: 1 or 2
import Logging
import MVIServer
import PostgresServer
import PostgresJournal
import SessionJournal

private let arguments = CommandLine.arguments
guard arguments.count == 3, ["1", "2"].contains(arguments[2]) else { fatalError("node-server PROCESS VERSION") }
private let settings = try await ServerSettings.load()
private var logger = Logger(label: "node-server")
logger.logLevel = settings.logLevel

private var journal: (any Journal)?
if case .postgres(let url) = settings.journal {
    journal = try await PostgresJournal.open(
        database: url, schema: settings.journalSchema, connections: settings.journalConnections, logger: logger,
        sessionLimit: settings.maxKeptSessions)
}

try await FeatureServer(
    settings: settings, logger: logger, journal: journal, peers: journal == nil ? nil : HTTPPeerTransport()
) {
    Steps(process: arguments[1])
    if arguments[2] == "1" { Tally() } else { NextTally() }
}.run()
