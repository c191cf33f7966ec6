import ArgumentParser
import UnixSignals

/// `mvi-server doctor URL`: finds problems between clients and a server.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Measure the path between clients and a server, and suggest changes.",
        discussion: """
            Give the address that clients use, so that all proxies are measured; it works with any server made with \
            this library. Doctor makes sessions, which it ends, and reads the state of one feature. It sends no intent \
            that a feature accepts. Exit code: 0 if nothing is wrong, 1 if something is wrong, 2 if the server is not \
            reachable or the command is invalid. docs/doctor.md explains the findings.
            """)

    @Argument(help: "The server's address, such as https://mvi.example.com.") var url: String
    @Option(help: "The server's admin address for health checks (--admin-port), such as http://10.0.0.5:8081.")
    var admin: String?
    @Option(
        name: [.customLong("identity"), .customLong("token")],
        help: "The identity of sessions, such as a JWT, if the server requires sign-in. [MVI_DOCTOR_IDENTITY]"
    )
    var identity: String?
    @Option(help: "A field of each request, such as one that a proxy requires: 'Name: value'. May be repeated.")
    var header: [String] = []
    @Option(help: "A file with additional trusted certificates (PEM).") var certificate: String?
    @Option(
        help: "Seconds for which a quiet stream is watched. By default a little over two heartbeats, at most 60.")
    var wait: Int?
    @Flag(help: "Print one JSON object.") var json = false

    func run() async throws {
        try await Tools.reporting {
            let examination = Examination(try options())
            let report: DoctorReport
            do throws(Unreachable) {
                report = DoctorReport(try await Self.run(examination), openSessions: examination.openSessions)
            } catch {
                throw ToolFailure(2, error.description)
            }
            _ = try Tools.put(json ? report.json : Array(report.text.utf8))
            if report.isWrong { throw ExitCode(1) }
        }
    }

    /// Returns the measurements so far at an interruption, and ends all sessions.
    private static func run(_ examination: Examination) async throws(Unreachable) -> Measurements {
        let work = Task { () async -> Result<Measurements, Unreachable> in
            do throws(Unreachable) { return .success(try await examination.run()) } catch { return .failure(error) }
        }
        let signals = Task {
            for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) { work.cancel() }
        }
        defer { signals.cancel() }
        return try await work.value.get()
    }

    private func options() throws(ToolFailure) -> DoctorOptions {
        var options = DoctorOptions(try Self.address(url, "the URL"))
        if let admin { options.admin = try Self.address(admin, "--admin") }
        options.identity = identity ?? Tools.variable("MVI_DOCTOR_IDENTITY")
        for text in header { options.fields.append(try Self.field(text)) }
        options.authorities = certificate
        if let wait {
            guard 1...3_600 ~= wait else { throw ToolFailure(2, "--wait is a number of seconds from 1 to 3600.") }
            options.watch = .seconds(wait)
        }
        return options
    }

    private static func address(_ text: String, _ name: String) throws(ToolFailure) -> ServerAddress {
        guard let address = ServerAddress(text) else {
            throw ToolFailure(
                2,
                "'\(text)' as \(name) is not a server's address; expected https://HOST or http://HOST, with or without a port."
            )
        }
        return address
    }

    private static func field(_ text: String) throws(ToolFailure) -> (name: String, value: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let isToken = parts[0].utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "(") }
        guard parts.count == 2, !parts[0].isEmpty, isToken, parts[1].utf8.allSatisfy({ 0x20...0x7E ~= $0 }) else {
            throw ToolFailure(2, "'\(text)' as --header is not a field; expected 'Name: value'.")
        }
        return (String(parts[0]), String(parts[1].drop { $0 == " " }))
    }
}
