import Foundation
import MVI
import TestSupport
import Testing

@testable import MVIServer

/// A program with a feature and settings of its own.
struct LittleShop: FeatureServerCommand {
    struct Till: Feature {
        struct State: Codable, Equatable, Sendable { var cents = 0 }
        enum Intent: Codable, Sendable { case sell(cents: Int) }
        static let examples: [Intent] = [.sell(cents: 100)]
        let initialState = State()
        func reduce(_ state: inout State, _ intent: Intent) {
            switch intent {
            case .sell(let cents): state.cents &+= cents
            }
        }
    }

    @Setting("opening", .time(.seconds(1) ... .seconds(600)), "How long it is open.")
    var opening: Duration = .seconds(60)
    @Setting("open", .flag, "Whether it is open.") var isOpen = false
    @Setting("till-key", .secret, "What opens the till.") var key = ""

    static var settings: [SettingDeclaration] { OwnSettings<Self>.all }

    var content: ServerContent { Till() }
}

/// A program with a setting that the server already has.
private struct Crowded: FeatureServerCommand {
    @Setting("port", .number(0...9), "A port.") var port = 0
}

@Suite("A feature server command", .timeLimit(.minutes(5)))
struct FeatureServerCommandTests {
    /// Parses a program's arguments into settings.
    private func settings(_ arguments: String...) throws -> (server: ServerSettings, command: LittleShop) {
        try ServerProgram<LittleShop>.parse(arguments).settings()
    }

    @Test func `its name comes from its type, and its variables begin with that name`() {
        #expect(LittleShop.name == "little-shop")
        let variables = LittleShop.settings.map(\.environmentName)
        #expect(variables == ["LITTLE_SHOP_OPENING", "LITTLE_SHOP_OPEN", "LITTLE_SHOP_TILL_KEY"])
    }

    @Test func `its own flags are read besides those of every server`() throws {
        let (server, command) = try settings("--opening", "2m", "--port", "9000", "--open", "--till-key=a=b")
        #expect(server.port == 9000)
        #expect(command.opening == .seconds(120) && command.isOpen && command.key == "a=b")
        let defaults = try settings().command
        #expect(defaults.opening == .seconds(60) && !defaults.isOpen)
    }

    @Test func `a program without tools beside it names the command that runs them`() async throws {
        let temporary = try TemporaryFolder()
        let program = "\(temporary.path)/desk"
        try FileManager.default.copyItem(atPath: Tool.built("desk").path, toPath: program)
        let (code, text) = try await Tool.bash.output(["-c", "'\(program)' doctor http://127.0.0.1:1 --wait 5"])
        let command = "swift run mvi-tools doctor http://127.0.0.1:1 --wait 5"
        #expect(code == 1 && text.hasPrefix("desk: \(program.dropLast(4))mvi-tools cannot be run"), "\(text)")
        #expect(text.hasSuffix("In the folder of the package, run: \(command)\n"), "\(text)")
    }

    @Test func `after two hyphens nothing is read as a flag`() throws {
        let error = #expect(throws: (any Error).self) { try settings("--", "--open") }
        let message = error.map { ServerProgram<LittleShop>.message(for: $0) }
        #expect(message?.contains("Unexpected argument '--open'") == true)
    }

    @Test func `a flag without its value is refused, and a flag is never read as a value`() {
        for arguments in [["--opening"], ["--opening", "--open"]] {
            let error = #expect(throws: (any Error).self) { try ServerProgram<LittleShop>.parse(arguments) }
            let message = error.map { ServerProgram<LittleShop>.message(for: $0) }
            #expect(message == "Missing value for '--opening <time>'")
        }
    }

    @Test func `an invalid value is refused with the places to set it, and a secret is not repeated`() {
        let error = #expect(throws: (any Error).self) { try settings("--opening", "2d") }
        let text = error.map { "\($0)" } ?? ""
        #expect(text.contains("--opening cannot be '2d'") && text.contains("LITTLE_SHOP_OPENING"))
        #expect(LittleShop.settings[2].defaultText == "")
    }

    @Test func `help lists its settings with their variables and defaults`() {
        let help = ServerProgram<LittleShop>.helpMessage(columns: 80)
        #expect(
            help.contains(
                """
                OWN SETTINGS:
                  --opening <time>        How long it is open. [LITTLE_SHOP_OPENING; default:
                                          1m]
                  --open                  Whether it is open. [LITTLE_SHOP_OPEN; default: false]
                  --till-key <value>      What opens the till. [LITTLE_SHOP_TILL_KEY]
                """))
        #expect(help.contains("USAGE: little-shop"))
        for command in ["health", "backup", "restore", "forget", "import", "sessions", "export", "schema", "types"] {
            #expect(help.contains("\n  \(command) "))
        }
    }

    @Test func `a setting with the name of a server's setting is refused in one line`() {
        let error = #expect(throws: (any Error).self) { try ServerProgram<Crowded>.parse([]).settings() }
        #expect(error.map { "\($0)" }?.contains("Crowded has a setting named 'port'") == true)
    }

    @Test func `its features' types are printed without a running server`() async throws {
        let types = try await ServerProgram<LittleShop>.parse([]).types()
        #expect(types.names == ["till"])
    }

    @Test func `a port that is in use is reported in one line`() async throws {
        let first = try LoopbackPort(isTaken: true)
        let (code, text) = try await Tool.built("mvi-server").output([
            "--port", "\(first.number)", "--data", ":memory:", "--log-level", "critical",
        ])
        #expect(code == 1)
        #expect(
            text == """
                mvi-server: cannot serve: Cannot bind to 127.0.0.1 port \(first.number): another process listens there. \
                Stop it or choose another port.

                """)
    }

    @Test func `variables that set nothing are named in a warning, and a server starts with those of Kubernetes`()
        async throws
    {
        let taken = try LoopbackPort(isTaken: true)
        let (code, text) = try await Tool.bash.output([
            "-c",
            """
            export MVI_CONFIG= MVI_PORT=tcp://10.96.120.7:80 MVI_PORT_80_TCP_PORT=80 MVI_ADMIN_PORT=tcp://10.96.120.8:81
            export MVI_PROT=9000 MVI_DATA=:memory:
            exec "$0" --port "$1"
            """, Tool.built("mvi-server").path, "\(taken.number)",
        ])
        #expect(code == 1)
        let lines = text.split(separator: "\n")
        let links = lines.first { $0.contains("variables=MVI_ADMIN_PORT, MVI_PORT") }
        #expect(links?.contains("enableServiceLinks: false") == true, "\(text)")
        #expect(lines.contains { $0.contains("variables=MVI_PROT") && $0.contains("no setting has") }, "\(text)")
        #expect(lines.last?.contains("Cannot bind to 127.0.0.1 port \(taken.number)") == true, "\(text)")
    }

    @Test func `messages to a terminal show the invisible characters of variables and paths`() async throws {
        for (script, shown) in [
            (#"MVI_MAX_STREAMS=$'100\r' exec "$0" --data :memory:"#, #"cannot be '100\u{d}'"#),
            (#"exec "$0" replay $'no\e[2Jwhere\u202e\u2028'"#, #"'no\u{1b}[2Jwhere\u{202e}\u{2028}'"#),
        ] {
            let (code, text) = try await Tool.bash.output([
                "-c", "export LC_ALL=C.UTF-8; \(script)", Tool.built("mvi-server").path,
            ])
            #expect(code != 0 && text.contains(shown), "\(text)")
            #expect(!text.unicodeScalars.contains { $0.isInvisible && $0 != "\n" }, "\(text)")
        }
    }

    @Test(arguments: ["-HUP", "-TERM", "-HUP -TERM"])
    func `a server stops in order at SIGHUP, also if another signal follows at once`(signals: String) async throws {
        let (code, text) = try await Tool.bash.output([
            "-c",
            #"""
            # Also if nohup started the tests.
            exec {out}< <(exec env --default-signal=HUP "$0" --data :memory: --port 0)
            server=$!
            while read -r -u $out line; do
                echo "$line"
                if [[ $line == *"Serving on"* ]]; then for signal in $1; do kill "$signal" $server; done; fi
            done
            wait $server
            """#, Tool.built("mvi-server").path, signals,
        ])
        #expect(code == 0 && text.contains("Stopped"), "\(text)")
    }

    @Test func `a server that nohup started goes on at SIGHUP`() async throws {
        let (code, text) = try await Tool.bash.output([
            "-c",
            #"""
            trap '' HUP
            exec {out}< <(exec "$0" --data :memory: --port 0)
            server=$!
            while read -r -u $out line; do
                echo "$line"
                if [[ $line == *"Serving on"* ]]; then
                    port=$(sed -nE 's/.* address=http:\/\/127.0.0.1:([0-9]+) .*/\1/p' <<<"$line")
                    kill -HUP $server
                    "$0" health --port "$port" || exit 3
                    kill -TERM $server
                fi
            done
            wait $server
            """#, Tool.built("mvi-server").path,
        ])
        #expect(code == 0 && text.contains("Stopped"), "\(text)")
    }
}
