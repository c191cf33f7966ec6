import MVIServer
import Testing

@testable import JWTAuthentication

@Suite("Settings of JWTs")
struct SettingsTests {
    private static let issuer = ["jwt-issuer": "https://login.example.com/", "jwt-audience": "shop, api"]
    private static let secret = String(repeating: "s", count: 32)

    private func load(_ flags: [String: String], _ environment: [String: String] = [:]) async throws -> JWTSettings? {
        try JWTSettings.load(flags: flags, environment: environment)
    }

    private func refusal(_ flags: [String: String]) async -> String? {
        do {
            _ = try await load(flags)
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test("without settings of JWTs the result is nil, even if other settings are present")
    func none() async throws {
        #expect(try await load([:]) == nil)
        #expect(try await load(["port": "8000"], ["MVI_PORT": "8000", "MVI_JWT_ISSUER": ""]) == nil)
    }

    @Test("flags and variables set them")
    func values() async throws {
        let settings = try await load(
            Self.issuer, ["MVI_JWT_KEYS": "https://login.example.com/keys?v=1", "MVI_JWT_ALGORITHMS": "ES256, EdDSA"])
        #expect(settings?.issuer == "https://login.example.com/")
        #expect(settings?.audiences == ["shop", "api"])
        #expect(settings?.keys == .url("https://login.example.com/keys?v=1"))
        #expect(settings?.algorithms == [.es256, .edDSA])
        #expect(settings?.permittedAlgorithms == [.es256, .edDSA])
        #expect(settings?.secret == nil)
        #expect(settings?.leeway == .seconds(30))
        let shared = try await load(Self.issuer, ["MVI_JWT_SECRET": Self.secret])
        #expect(shared?.secret == JWTSecret(Self.secret))
        #expect(shared?.permittedAlgorithms == [.hs256])
        let file = try await load(Self.issuer.merging(["jwt-keys": "/etc/keys.json"]) { $1 })
        #expect(file?.keys == .file("/etc/keys.json"))
        #expect(file?.permittedAlgorithms == Set(SignatureAlgorithm.asymmetric))
    }

    @Test(
        "incomplete or contradictory settings are refused with advice",
        arguments: [
            (["jwt-keys": "k"], "--jwt-issuer is missing"),
            (["jwt-audience": "shop"], "--jwt-issuer is missing"),
            (["jwt-issuer": "i", "jwt-keys": "k"], "--jwt-audience is missing"),
            (["jwt-issuer": "i", "jwt-audience": "a"], "or give --jwt-secret instead"),
            (["jwt-issuer": "i", "jwt-audience": "a,,b", "jwt-keys": "k"], "--jwt-audience cannot be 'a,,b'"),
            (
                ["jwt-issuer": "i", "jwt-audience": "a", "jwt-keys": "k", "jwt-secret": secret],
                "--jwt-keys cannot be 'k': expected nothing, since --jwt-secret is there"
            ),
            (
                ["jwt-issuer": "i", "jwt-audience": "a", "jwt-secret": secret, "jwt-algorithms": "HS256,RS256"],
                "expected some of HS256, HS384, HS512, since --jwt-secret is there"
            ),
            (
                ["jwt-issuer": "i", "jwt-audience": "a", "jwt-keys": "k", "jwt-algorithms": "RS256,HS256"],
                "since --jwt-keys is there; for others give --jwt-secret instead"
            ),
            (
                ["jwt-issuer": "i", "jwt-audience": "a", "jwt-keys": "k", "jwt-algorithms": "none"],
                "--jwt-algorithms cannot be 'none'"
            ),
            (
                ["jwt-issuer": "i", "jwt-audience": "a", "jwt-keys": "k", "jwt-algorithms": "RS256,ES257"],
                "--jwt-algorithms cannot be 'RS256,ES257'"
            ),
            (
                ["jwt-issuer": "i", "jwt-audience": "a", "jwt-keys": "k", "jwt-algorithms": "rs256"],
                "--jwt-algorithms cannot be 'rs256'"
            ),
            (
                ["jwt-issuer": "i", "jwt-audience": "a", "jwt-secret": String(secret.dropLast())],
                "expected at least 32 bytes (it has 31); make one with: openssl rand -base64 32"
            ),
            (
                ["jwt-issuer": "i", "jwt-audience": "a", "jwt-secret": secret, "jwt-algorithms": "HS256,HS512"],
                "expected at least 64 bytes (it has 32)"
            ),
        ])
    func contradictions(_ flags: [String: String], _ text: String) async throws {
        let refusal = try #require(await refusal(flags))
        #expect(refusal.contains(text), "\(refusal)")
        #expect(!refusal.contains("sssss"))
    }

    @Test("settings made in code are checked the same way")
    func inCode() async throws {
        var settings = JWTSettings(issuer: "i", audiences: [], keys: .file("k"))
        #expect(throws: SettingError.self) { try settings.check() }
        settings.audiences = [""]
        #expect(throws: SettingError.self) { try settings.check() }
        settings.audiences = ["a"]
        settings.algorithms = []
        #expect(throws: SettingError.self) { try settings.check() }
        settings.algorithms = nil
        #expect(throws: Never.self) { try settings.check() }
        let short = JWTSettings(issuer: "i", audiences: ["a"], secret: JWTSecret("short"))
        await #expect(throws: SettingError.self) { try await JWTAuthenticator(short) }
    }

    @Test(
        "an address is https, or http of this machine, without a user name and password",
        arguments: [
            "http://login.example.com/keys", "http://10.0.0.1/keys", "http://localhost.example.com/keys",
            "http://127.0.0.1.example.com/keys", "http://[::2]/keys", "ftp://127.0.0.1/keys", "file:///etc/keys",
            "https://user:word@login.example.com/keys", "http://127.0.0.1@evil.example.com/keys",
            "https://login.example.com/ke ys", "https://login.example.com/keys#part", "https://", "https:///keys",
            "https://login.example.com:99999/keys", "http://127.0.0.1\\@evil.example.com/", "https://é.example.com/",
        ])
    func addresses(_ text: String) async throws {
        #expect(JWKSLocation(text) == nil)
        let refusal = await refusal(Self.issuer.merging(["jwt-keys": text]) { $1 })
        #expect(refusal?.contains("http:// only for localhost, 127.0.0.1 or [::1]") == true)
    }

    @Test("addresses that are allowed, and files")
    func locations() {
        for text in [
            "https://login.example.com/keys", "HTTPS://login.example.com", "https://10.0.0.1:8443/keys?a=b",
            "http://localhost:9000/keys", "http://127.0.0.1/keys", "http://[::1]:9000/keys",
        ] { #expect(JWKSLocation(text) == .url(text)) }
        #expect(JWKSLocation("keys.json") == .file("keys.json"))
        #expect(JWKSLocation("/etc/keys:1") == .file("/etc/keys:1"))
        #expect(JWKSLocation("") == nil)
        #expect("\(JWKSLocation.url("https://login.example.com/keys?key=secret"))" == "https://login.example.com/keys")
    }

    @Test("no text of the settings shows the secret")
    func hiding() async throws {
        let settings = try #require(try await load(Self.issuer, ["MVI_JWT_SECRET": Self.secret]))
        var dumped = ""
        dump(settings, to: &dumped)
        for text in ["\(settings)", String(reflecting: settings), dumped, "\(settings.secret as Any)"] {
            #expect(text.contains("(hidden)") || text == dumped)
            #expect(!text.contains("ssss") && !text.contains("115, 115"), "\(text)")
        }
        for setting in JWTSettings.catalogue { #expect(setting.defaultText.isEmpty) }
    }

    @Test("one configuration file holds the server's settings and those of JWTs")
    func sharedFile() async throws {
        let text = #"{"port": 9000, "jwt-issuer": "i", "jwt-audience": ["a", "b"], "jwt-keys": "/etc/keys.json"}"#
        try await withFile(text) { path in
            let settings = try JWTSettings.load(flags: ["config": path], environment: [:])
            #expect(settings?.audiences == ["a", "b"])
            let server = try ServerSettings.load(
                flags: ["config": path], environment: [:], others: JWTSettings.names)
            #expect(server.port == 9000)
            #expect(throws: SettingError.self) {
                try ServerSettings.load(flags: ["config": path], environment: [:])
            }
        }
    }
}
