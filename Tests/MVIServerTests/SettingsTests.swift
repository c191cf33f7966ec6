import Foundation
import Testing

@testable import JWTAuthentication
@testable import MVIServer
@testable import mvi_server

@Suite("Settings")
struct SettingsTests {
    @Test("a flag overrides a variable, and a variable the default; an empty variable counts as unset")
    func order() throws {
        let settings = try ServerSettings.load(
            flags: ["port": "9000", "max-streams": "7"],
            environment: ["MVI_PORT": "9001", "MVI_HOST": "::1", "MVI_GRACE": ""])
        #expect(settings.port == 9000)
        #expect(settings.maxStreams == 7)
        #expect(settings.host == "::1")
        #expect(settings.grace == .seconds(10))
    }

    @Test("an empty MVI_CONFIG counts as unset, and an empty flag is an error")
    func emptyConfiguration() throws {
        #expect(try ServerSettings.load(environment: ["MVI_CONFIG": "", "MVI_PORT": "9003"]).port == 9003)
        #expect(throws: SettingError.self) { try ServerSettings.load(flags: ["config": ""], environment: [:]) }
    }

    @Test(
        "a variable of Kubernetes in place of a setting, and an empty one, leave the file's value",
        arguments: ["tcp://10.96.120.7:80", "udp://10.96.120.7:53", "sctp://[fd00::7]:9", ""])
    func serviceLink(_ value: String) async throws {
        try await withFile(#"{"port": 9002}"#) { path in
            let variables = ["MVI_PORT": value, "MVI_ADMIN_PORT": value, "MVI_CONFIG": path]
            let settings = try ServerSettings.load(environment: variables)
            #expect(settings.port == 9002 && settings.adminPort == nil)
        }
        // Another setting cannot have such a value, and a port no other text.
        for (name, text) in [("MVI_HOST", "tcp://10.96.120.7:80"), ("MVI_PORT", "http://10.96.120.7:80")] {
            #expect(throws: SettingError.self) { try ServerSettings.load(environment: [name: text]) }
        }
    }

    @Test("variables that set nothing are named: those of Kubernetes, and unknown ones without the rest of its family")
    func environmentCheck() {
        let catalogue = ServerSettings.catalogue + OwnSettings<DemoServer>.all
        let link = "tcp://10.96.120.7:80"
        let check = EnvironmentCheck(
            [
                "MVI_PORT": link, "MVI_PORT_80_TCP": link, "MVI_SERVICE_HOST": "10.96.120.7", "MVI_SERVICE_PORT": "80",
                "MVI_DB_PORT": link, "MVI_DB_SERVICE_HOST": "10.96.120.8", "SHOP_PORT": link, "PATH": "/bin",
                "MVI_HOST": "::", "MVI_CONFIG": "", "MVI_ADMIN_TOKEN_FILE": "f", "MVI_JWT_SECRET": "s",
                "MVI_PROT": "80", "MVI_MAX_STREAM": "",
            ], catalogue)
        #expect(check.serviceLinks == ["MVI_PORT"])
        #expect(check.unknown == ["MVI_MAX_STREAM", "MVI_PROT"])
        #expect(EnvironmentCheck(["MVI_PORT": "80"], catalogue) == EnvironmentCheck([:], catalogue))
    }

    @Test("a file comes last, and may contain numbers and lists")
    func file() async throws {
        try await withFile(
            #"{"port": 9002, "host": "::1", "grace": "3s", "allowed-origins": ["https://a.example", "https://b.example"]}"#
        ) { path in
            let settings = try ServerSettings.load(
                flags: ["config": path], environment: ["MVI_HOST": "0.0.0.0"])
            #expect(settings.port == 9002)
            #expect(settings.host == "0.0.0.0")
            #expect(settings.grace == .seconds(3))
            #expect(settings.allowedOrigins.map(\.text) == ["https://a.example", "https://b.example"])
            #expect(try ServerSettings.load(environment: ["MVI_CONFIG": path]).port == 9002)
        }
    }

    @Test("a missing file and one that is not JSON are errors")
    func badFile() async throws {
        #expect(throws: SettingError.self) {
            _ = try ServerSettings.load(flags: ["config": "/nowhere/mvi.json"], environment: [:])
        }
        try await withFile("port: 9000") { path in
            #expect(throws: SettingError.self) {
                _ = try ServerSettings.load(flags: ["config": path], environment: [:])
            }
        }
    }

    @Test(
        "a file's value is the text that a flag would have; null sets nothing",
        arguments: [
            (#""a\u00e9""#, "aé"), ("0", "0"), ("-7", "-7"), ("1e3", "1000"), ("2.0", "2"), ("0.5", "0.5"),
            ("true", "true"), ("false", "false"), ("[]", ""), (#"["a"]"#, "a"), (#"["a", "b"]"#, "a,b"), ("null", nil),
        ] as [(String, String?)])
    func fileValue(json: String, text: String?) async throws {
        try await withFile(#"{"setting": \#(json), "other": 1}"#) { path in
            let source = try SettingsSource(
                flags: ["config": path], environment: [:], known: ["setting", "other"])
            #expect(source.text("setting", variable: "MVI_SETTING") == text)
            #expect(source.text("other", variable: "MVI_OTHER") == "1")
        }
    }

    @Test("a switch may be set in a file as true")
    func fileSwitch() async throws {
        try await withFile(#"{"require-identity": true}"#) { path in
            try #expect(ServerSettings.load(flags: ["config": path], environment: [:]).requireIdentity)
        }
    }

    @Test(
        "a file's value that a flag cannot have is refused with its name",
        arguments: ["{}", #"{"a": 1}"#, "[1]", #"["a", 1]"#, "[null]", "[[]]"])
    func fileValueRefused(json: String) async throws {
        try await withFile(#"{"port": \#(json)}"#) { path in
            let error = #expect(throws: SettingError.self) {
                _ = try ServerSettings.load(flags: ["config": path], environment: [:])
            }
            #expect(error?.description.contains(#""port" is not a string, a number, true, false or a list of"#) == true)
        }
    }

    @Test("a file with an unknown setting is refused with its name")
    func unknownMember() async throws {
        try await withFile(#"{"port": 9000, "prot": 9001}"#) { path in
            let error = #expect(throws: SettingError.self) {
                _ = try ServerSettings.load(flags: ["config": path], environment: [:])
            }
            #expect(error?.description.contains("it has unknown settings: prot") == true)
        }
    }

    @Test(
        "an invalid value is refused with the given and the expected value",
        arguments: [
            ("port", "99999"), ("port", "-1"), ("port", "http"), ("host", "example.com"), ("host", "localhost"),
            ("public-url", "mvi.example.com"), ("public-url", "https://mvi.example.com/path"),
            ("allowed-origins", "*"), ("allowed-origins", "https://a.example,null"), ("max-streams", "0"),
            ("max-streams", "many"), ("body-limit", "1"), ("body-limit", "1MB"), ("body-limit", "99999999999GiB"),
            ("session-ttl", "1s"), ("grace", "forever"), ("heartbeat", "-5"), ("heartbeat", "0"), ("log-level", "loud"),
            ("max-wait-seconds", "1h"),
        ])
    func refused(name: String, text: String) throws {
        let error = #expect(throws: SettingError.self) {
            _ = try ServerSettings.load(flags: [name: text], environment: [:])
        }
        let message = try #require(error?.description)
        #expect(message.hasPrefix("--\(name) cannot be '\(text)': expected "))
        #expect(message.contains("MVI_\(name.uppercased().replacing("-", with: "_"))"))
    }

    @Test("a message shows the invisible characters of a value and of a file's members")
    func invisibleCharacters() async throws {
        func message(_ environment: [String: String]) -> String? {
            #expect(throws: SettingError.self) { _ = try ServerSettings.load(environment: environment) }?.description
        }
        #expect(message(["MVI_MAX_STREAMS": "100\r"])?.hasPrefix(#"--max-streams cannot be '100\u{d}': "#) == true)
        let host = message(["MVI_HOST": "a\u{1B}[2J\u{9B}\u{202E}\u{2028}"])
        #expect(host?.contains(#"'a\u{1b}[2J\u{9b}\u{202e}\u{2028}'"#) == true)
        try await withFile(#"{"po\u202ert\n": 1}"#) { path in
            #expect(message(["MVI_CONFIG": path])?.contains(#"unknown settings: po\u{202e}rt\u{a}. (Set"#) == true)
        }
    }

    @Test("times and bytes are written in units")
    func units() throws {
        let settings = try ServerSettings.load(
            flags: [
                "grace": "1500ms", "heartbeat": "30", "session-ttl": "2h", "idle-timeout": "5m", "body-limit": "2MiB",
                "head-limit": "8KiB", "outbox-bytes": "65536",
            ], environment: [:])
        #expect(settings.grace == .milliseconds(1_500))
        #expect(settings.heartbeat == .seconds(30))
        #expect(settings.sessionLife == .seconds(7_200))
        #expect(settings.idleTimeout == .seconds(300))
        #expect(settings.bodyLimit == 2 * 1024 * 1024)
        #expect(settings.headLimit == 8 * 1024)
        #expect(settings.outboxBytes == 65_536)
    }

    @Test("the text of every default has the default as its value")
    func defaults() throws {
        for setting in ServerSettings.catalogue where !setting.defaultText.isEmpty {
            let flags = [setting.name: setting.defaultText]
            #expect(throws: Never.self) { try ServerSettings.load(flags: flags, environment: [:]) }
        }
        #expect(Set(ServerSettings.catalogue.map(\.name)).count == ServerSettings.catalogue.count)
    }

    @Test("every setting is a flag of the command, and every flag a setting")
    func flags() throws {
        let names = ServerSettings.names + ["config"]
        // A flag without a value means true.
        let switches = ["require-identity", "access-log", "lossless-failover"]
        let arguments = names.flatMap { switches.contains($0) ? ["--\($0)"] : ["--\($0)", "value of \($0)"] }
        let given = try ServerFlags.parse(arguments).given
        let values = names.map { ($0, switches.contains($0) ? "true" : "value of \($0)") }
        #expect(given == Dictionary(uniqueKeysWithValues: values))
        let help = ServerProgram<DemoServer>.helpMessage(columns: 1_000)
        for name in names { #expect(help.contains(switches.contains(name) ? "--\(name) " : "--\(name) <")) }
        for setting in ServerSettings.catalogue.withFileForms {
            let ending = setting.defaultText.isEmpty ? "]" : "; default: \(setting.defaultText)]"
            #expect(help.contains("[\(setting.environmentName)\(ending)"), "\(setting.name)")
        }
    }

    @Test("the table of settings in docs/deployment.md has each of them, with its default")
    func table() throws {
        let rows = try Repository.text("docs/deployment.md").split(separator: "\n").filter { $0.hasPrefix("| `--") }
        // Defaults that depend on the machine have no text there.
        let decided = ["threads"]
        for setting in (ServerSettings.catalogue + OwnSettings<DemoServer>.all).withFileForms {
            let text = setting.defaultText.isEmpty || decided.contains(setting.name) ? nil : "`\(setting.defaultText)`"
            let row = rows.first { $0.contains("`--\(setting.name)`") }
            #expect(
                row.map { text == nil || $0.contains(text ?? "") } == true,
                "docs/deployment.md lacks, with an answer at the limit: | `--\(setting.name)` | \(text ?? "none") | \(setting.summary) | |"
            )
        }
        #expect(rows.contains { $0.contains("`--\(SettingsSource.configuration.name)`") })
    }

    @Test("each setting that may be a secret has a file form, and no other has")
    func fileForms() {
        let forms = (
            ServerSettings.catalogue.compactMap(\.fileForm?.name),
            OwnSettings<DemoServer>.all.compactMap(\.fileForm?.name)
        )
        #expect(forms.0 == ["admin-token-file", "journal-file", "journal-listen-file"])
        #expect(forms.1 == ["jwt-secret-file"])
        #expect(
            ServerSettings.catalogue.first { $0.name == "admin-token" }?.fileForm?.environmentName
                == "MVI_ADMIN_TOKEN_FILE")
    }

    @Test(
        "a secret is read from the file that a flag, a variable or the configuration names, without its line's end",
        arguments: ["", "\n", "\r\n"])
    func secretFile(_ end: String) async throws {
        let token = "An-admin-token-012345"
        try await withFile(token + end) { path in
            let expected = try #require(AdminToken(token))
            for (flags, variables) in [
                (["admin-token-file": path], [:]), ([:], ["MVI_ADMIN_TOKEN_FILE": path]),
                (["admin-token-file": path], ["MVI_ADMIN_TOKEN": ""]),
            ] as [([String: String], [String: String])] {
                let settings = try ServerSettings.load(flags: flags, environment: variables)
                #expect(settings.adminToken == expected)
            }
            try await withFile(#"{"admin-token-file": "\#(path)"}"#) { configuration in
                let settings = try ServerSettings.load(flags: ["config": configuration], environment: [:])
                #expect(settings.adminToken == expected)
            }
        }
        try await withFile("postgres://mvi:word@db/mvi" + end) { path in
            let settings = try ServerSettings.load(flags: ["journal-file": path], environment: [:])
            #expect(settings.journal == .postgres(url: "postgres://mvi:word@db/mvi"))
        }
        try await withFile(String(repeating: "s", count: 32) + end) { path in
            let settings = try JWTSettings.load(
                flags: ["jwt-issuer": "i", "jwt-audience": "a", "jwt-secret-file": path], environment: [:])
            #expect(settings?.secret == JWTSecret(String(repeating: "s", count: 32)))
        }
    }

    @Test func `the file with a database's URL is read again, and a text that is none is refused without showing it`()
        async throws
    {
        #expect(ServerSettings().rereadJournal == nil && ServerSettings().rereadJournalListen == nil)
        try await withFile("postgres://mvi:one@db/mvi\n") { path in
            var settings = try ServerSettings.load(
                flags: ["journal-file": path, "journal-listen-file": path], environment: [:])
            let rereads = try [#require(settings.rereadJournal), #require(settings.rereadJournalListen)]
            try Data("postgres://mvi:two@db/mvi\n".utf8).write(to: URL(fileURLWithPath: path))
            for reread in rereads { #expect(try reread() == "postgres://mvi:two@db/mvi") }
            try Data("a secret of something else".utf8).write(to: URL(fileURLWithPath: path))
            for reread in rereads {
                let error = #expect(throws: SettingError.self) { _ = try reread() }
                let text = error?.description ?? ""
                #expect(text.contains("'\(path)': expected a file with a URL such as") && !text.contains("secret of"))
            }
            // A value that the program sets is not the file's.
            settings.journal = .postgres(url: "postgres://elsewhere/mvi")
            #expect(settings.rereadJournal == nil && settings.rereadJournalListen != nil)
        }
        let settings = try ServerSettings.load(flags: ["journal": "postgres://mvi@db/mvi"], environment: [:])
        #expect(settings.rereadJournal == nil)
    }

    @Test("a secret and its file together are refused, and so is a file that cannot be read; neither shows the secret")
    func badSecretFile() async throws {
        func message(_ flags: [String: String], _ variables: [String: String] = [:]) async -> String {
            let error = #expect(throws: SettingError.self) {
                _ = try ServerSettings.load(flags: flags, environment: variables)
            }
            return error?.description ?? ""
        }
        let token = "An-admin-token-012345"
        try await withFile(token) { path in
            let both = await message(["admin-token-file": path], ["MVI_ADMIN_TOKEN": token])
            #expect(both.contains("expected nothing, since --admin-token is given") && !both.contains(token))
        }
        #expect(await message(["admin-token-file": "/nowhere/token"]).contains("but it cannot be opened"))
        #expect(await message(["admin-token-file": "/tmp"]).contains("but it cannot be read"))
        #expect(await message(["admin-token-file": "/dev/zero"]).contains("but it has more than"))
        try await withFile("\n") { path in
            #expect(await message(["admin-token-file": path]).contains("but it is empty"))
        }
        try await withFile("short") { path in
            let short = await message(["admin-token-file": path])
            #expect(short.contains("a text of 5 bytes") && !short.contains("short"))
        }
    }

    @Test("secrets in flags are distinguished from others, and URLs with a password from those without")
    func secretsInFlags() throws {
        let source = try SettingsSource(
            flags: [
                "admin-token": "An-admin-token-012345", "journal": "postgres://mvi:word@db/mvi",
                "journal-listen": "postgres://mvi@db/mvi", "port": "80", "admin-token-file": "x",
            ], environment: ["MVI_JWT_SECRET": "s"], known: [])
        #expect(source.secretsInFlags(ServerSettings.catalogue) == ["admin-token", "journal"])
        #expect(source.secretsInFlags(JWTSettings.catalogue).isEmpty)
        for (url, holds) in [
            ("postgres://u:p@h/d", true), ("postgres://u@h:5432/d", false), ("postgres://h/d?password=p", true),
            ("postgres://h:5432,[::1]:5433/d?sslmode=require", false), ("postgres", false), ("sqlite", false),
        ] { #expect(url.hasPassword == holds, "\(url)") }
    }

    @Test("the limits reach the parts that enforce them")
    func parts() {
        var settings = ServerSettings()
        settings.maxStreams = 11
        settings.maxWait = .seconds(3)
        settings.maxStateBytes = 2_048
        settings.headLimit = 4_096
        settings.maxConnections = 12
        #expect(settings.sessionLimits.streams == 11)
        #expect(settings.sessionLimits.longestWait == .seconds(3))
        #expect(settings.sessionLimits.stateBytes == 2_048)
        #expect(settings.http.headLimit == 4_096)
        #expect(settings.http.connectionLimit == 12)
    }

    @Test func `a receipt lives as long as an unused session, at least 10 minutes and at most 24 hours`() {
        for (session, receipt) in [(60, 600), (600, 600), (7_200, 7_200), (86_400, 86_400), (864_000, 86_400)] {
            var settings = ServerSettings()
            settings.sessionLife = .seconds(session)
            #expect(settings.sessionLimits.receiptLife == .seconds(receipt))
        }
    }
}
