import Locking
import MVIClient
import WireJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// Runs the Swift client for the conformance kit: commands as JSON lines in, what the client saw as JSON lines out.

@Sendable func complain(_ text: String) { writeAll(Array("\(text)\n".utf8), to: 2) }

func open(_ command: Command) -> RawClient? {
    guard let url = command.url.flatMap({ URL(string: $0) }) else { return nil }
    var options = RemoteServer.Options()
    options.delta = command.delta.flatMap { DeltaFormat(rawValue: $0) }
    (options.locale, options.timeZone) = (command.locale, command.timeZone)
    if let patience = command.patience { options.patience = .seconds(patience) }
    if let identities = command.identities, !identities.isEmpty {
        let left = Lock(identities[...])
        options.identity = { left.withLock { $0.popFirst() } }
    }
    if let folder = command.folder {
        options.credentials = StoredText(path: "\(folder)/credential")
        options.pendingStorage = StoredText(path: "\(folder)/pending")
    }
    options.report = { complain($0) }
    let client = RawClient(url, options: options, usesCookie: command.credential == "cookie") { Report($0).print() }
    for feature in command.features ?? [] { client.watch(feature) }
    return client
}

var client: RawClient?
while let line = readLine() {
    let command: Command
    do {
        command = try WireJSON.decode(Command.self, from: Array(line.utf8))
    } catch {
        complain("Not a command: \(line)")
        continue
    }
    switch command.do {
    case "open": client = open(command)
    case "watch": client?.watch(command.feature ?? "", readsLabels: command.labels ?? true)
    case "read": client?.read(command.feature ?? "")
    case "unwatch": client?.unwatch(command.feature ?? "")
    case "send":
        let tag = command.tag ?? ""
        client?.send(command.intent?.bytes ?? [], to: command.feature ?? "") { Report($0, of: tag).print() }
    case "offline": client?.setOnline(false)
    case "online": client?.setOnline(true)
    case "foreground": client?.foreground()
    case "close": client?.close()
    default: complain("An unknown command: \(line)")
    }
}
client?.close()
