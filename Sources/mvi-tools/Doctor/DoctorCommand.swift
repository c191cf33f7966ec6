import ArgumentParser
import UnixSignals

/// `mvi-server doctor URL`: what goes wrong between clients and a server.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Measure the way between clients and a server, and say what to change.",
        discussion: """
            Give the address that clients use, so that all proxies are measured with it; any server made with this \
            library will do. Doctor makes sessions, which it ends, and reads the state of one feature. It sends no intent that a feature \
            knows. Exit code: 0 nothing is wrong, 1 something is, 2 the server was not reached or the command is not right. \
            docs/doctor.md says what each finding means.
            """)

    @Argument(help: "The server's address, such as https://mvi.example.com.") var url: String
    @Option(help: "The server's own address of health checks (--admin-port), such as http://10.0.0.5:8081.")
    var admin: String?
    @Option(
        name: [.customLong("identity"), .customLong("token")],
        help: "What sessions are signed in with, such as a JWT, where the server takes no guests. [MVI_DOCTOR_IDENTITY]"
    )
    var identity: String?
    @Option(help: "A field of each request, such as one that a proxy asks for: 'Name: value'. May be repeated.")
    var header: [String] = []
    @Option(help: "A file with certificates (PEM) that are trusted beside the system's.") var certificate: String?
    @Option(
        help: "For how many seconds a quiet stream is watched. By default a little over two heartbeats, 60 at most.")
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

    /// Runs the examination. If it is interrupted, it reports what was measured and ends its sessions.
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
                "'\(text)' as \(name) is no server's address; expected https://HOST, or http://HOST, with or without a port."
            )
        }
        return address
    }

    private static func field(_ text: String) throws(ToolFailure) -> (name: String, value: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let isToken = parts[0].utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "(") }
        guard parts.count == 2, !parts[0].isEmpty, isToken, parts[1].utf8.allSatisfy({ 0x20...0x7E ~= $0 }) else {
            throw ToolFailure(2, "'\(text)' as --header is no field; expected 'Name: value'.")
        }
        return (String(parts[0]), String(parts[1].drop { $0 == " " }))
    }
}
