import MVIServer

extension JWTSettings {
    /// Every setting of JWTs, in the order of `--help`.
    package static let catalogue: [Setting<JWTSettings>] = [
        setting(
            "jwt-issuer", "issuer", "The 'iss' of JWTs that clients sign in with, such as https://login.example.com/.",
            \.issuer, SettingFormat.text.orNone),
        setting(
            "jwt-audience", "audiences",
            "Names of this server in the 'aud' of JWTs, with commas between them; one of them must be there.",
            \.audiences, .names),
        setting(
            "jwt-algorithms", "names",
            "Algorithms that JWTs may be signed with, with commas between them; without it HS256 with --jwt-secret, and "
                + "all with public keys with --jwt-keys.", \.algorithms, SettingFormat.algorithms.orNone),
        setting(
            "jwt-types", "types",
            "The 'typ' of JWTs, such as at+jwt, with commas between them; one of them must be there. Without it any type is "
                + "taken.", \.types, SettingFormat.names.orNone),
        setting(
            "jwt-keys", "file or url",
            "The issuer's public keys: a file with a JWKS, or its https address.", \.keys,
            SettingFormat.keySet.orNone),
        setting(
            "jwt-secret", "text",
            "The secret that the issuer signs with, at least 32 bytes. Other users of the machine see flags: use "
                + "--jwt-secret-file, or the variable.", \.secret, SettingFormat.secret.orNone),
    ]

    private static func setting<Value>(
        _ name: String, _ valueName: String, _ summary: String,
        _ path: any WritableKeyPath<JWTSettings, Value> & Sendable, _ format: SettingFormat<Value>
    ) -> Setting<JWTSettings> {
        Setting(name, valueName, summary, path, format, defaults: JWTSettings())
    }
}

extension SettingFormat where Value == [String] {
    /// Texts with commas between them.
    fileprivate static var names: SettingFormat {
        SettingFormat(
            "texts with commas between them",
            parse: { text in
                let names = text.parts
                return names.contains("") ? nil : names
            }, print: { $0.joined(separator: ",") })
    }
}

extension SettingFormat where Value == [SignatureAlgorithm] {
    fileprivate static var algorithms: SettingFormat {
        SettingFormat(
            "some of \(SignatureAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")), with commas between them "
                + "('none' is never taken)",
            parse: { text in
                let names = text.parts
                let algorithms = names.compactMap { SignatureAlgorithm(rawValue: $0) }
                return algorithms.count == names.count && !names.isEmpty ? algorithms : nil
            }, print: { $0.map(\.rawValue).joined(separator: ",") })
    }
}

extension SettingFormat where Value == JWKSLocation {
    fileprivate static var keySet: SettingFormat {
        SettingFormat(JWKSLocation.expected, parse: { JWKSLocation($0) }, print: { "\($0)" })
    }
}

extension SettingFormat where Value == JWTSecret {
    /// Any text: a refusal by the format would show it. `JWTSettings.check` looks at its length.
    fileprivate static var secret: SettingFormat {
        SettingFormat("a text", isSecret: true, parse: { JWTSecret($0) }, print: { _ in "" })
    }
}

extension String {
    /// What is between its commas, without spaces around.
    fileprivate var parts: [String] {
        split(separator: ",", omittingEmptySubsequences: false).map { part in
            let head = part.drop { $0 == " " }
            return String(head.lastIndex { $0 != " " }.map { head[...$0] } ?? "")
        }
    }
}
