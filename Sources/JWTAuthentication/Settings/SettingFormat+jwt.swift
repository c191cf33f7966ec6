import MVIServer

extension SettingFormat where Value == [String] {
    /// Texts separated by commas.
    static var names: SettingFormat {
        SettingFormat(
            "texts separated by commas",
            parse: { text in
                let names = text.parts
                return names.contains("") ? nil : names
            }, print: { $0.joined(separator: ",") })
    }
}

extension SettingFormat where Value == [SignatureAlgorithm] {
    static var algorithms: SettingFormat {
        SettingFormat(
            "some of \(SignatureAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")), separated by commas "
                + "('none' is never accepted)",
            parse: { text in
                let names = text.parts
                let algorithms = names.compactMap { SignatureAlgorithm(rawValue: $0) }
                return algorithms.count == names.count && !names.isEmpty ? algorithms : nil
            }, print: { $0.map(\.rawValue).joined(separator: ",") })
    }
}

extension SettingFormat where Value == JWKSLocation {
    static var keySet: SettingFormat {
        SettingFormat(JWKSLocation.expected, parse: { JWKSLocation($0) }, print: { "\($0)" })
    }
}

extension SettingFormat where Value == JWTSecret {
    /// Any text: a refusal by the format would show it. `JWTSettings.check` checks its length.
    static var jwtSecret: SettingFormat {
        SettingFormat("a text", isSecret: true, parse: { JWTSecret($0) }, print: { _ in "" })
    }
}

extension String {
    /// The texts between the commas, without surrounding spaces.
    fileprivate var parts: [String] {
        split(separator: ",", omittingEmptySubsequences: false).map { part in
            let head = part.drop { $0 == " " }
            return String(head.lastIndex { $0 != " " }.map { head[...$0] } ?? "")
        }
    }
}
