import MVIServer

extension JWTSettings {
    /// The algorithms that tokens may be signed with; the default if none are set.
    var permittedAlgorithms: Set<SignatureAlgorithm> {
        Set(algorithms ?? (secret == nil ? SignatureAlgorithm.asymmetric : [.hs256]))
    }

    /// True if no setting has a value.
    package var isEmpty: Bool {
        issuer == nil && audiences.isEmpty && algorithms == nil && types == nil && keys == nil && secret == nil
    }

    /// Checks all settings together.
    ///
    /// - Throws: `SettingError` for a setting that is missing or contradicts another. Its text never contains the
    ///   secret.
    public func check() throws(SettingError) {
        guard let issuer, !issuer.isEmpty else {
            throw SettingError(
                name: "jwt-issuer", given: "",
                expected: "the 'iss' of the tokens, such as https://login.example.com/, since other settings of JWTs "
                    + "are there")
        }
        guard !audiences.isEmpty, !audiences.contains("") else {
            throw SettingError(
                name: "jwt-audience", given: audiences.joined(separator: ","),
                expected: "this server's name in the 'aud' of the tokens, since --jwt-issuer is there: a token that "
                    + "was made for another server must not be good here")
        }
        switch (keys, secret) {
        case (nil, nil):
            throw SettingError(
                name: "jwt-keys", given: "",
                expected: "\(JWKSLocation.expected), since --jwt-issuer is there; or give --jwt-secret instead")
        case (.some(let keys), .some):
            throw SettingError(
                name: "jwt-keys", given: "\(keys)",
                expected: "nothing, since --jwt-secret is there: give one of the two")
        case (.some, nil): try checkAlgorithms(SignatureAlgorithm.asymmetric, besides: "keys", instead: "secret")
        case (nil, .some(let secret)):
            try checkAlgorithms(SignatureAlgorithm.symmetric, besides: "secret", instead: "keys")
            try check(secret)
        }
    }

    private func checkAlgorithms(
        _ fitting: [SignatureAlgorithm], besides: String, instead: String
    ) throws(SettingError) {
        guard let algorithms, algorithms.isEmpty || !algorithms.allSatisfy(fitting.contains) else { return }
        throw SettingError(
            name: "jwt-algorithms", given: algorithms.map(\.rawValue).joined(separator: ","),
            expected:
                "some of \(fitting.map(\.rawValue).joined(separator: ", ")), since --jwt-\(besides) is there; for "
                + "others give --jwt-\(instead) instead")
    }

    private func check(_ secret: JWTSecret) throws(SettingError) {
        let shortest = permittedAlgorithms.compactMap(\.shortestSecret).max() ?? 32
        guard secret.count < shortest else { return }
        throw SettingError(
            name: "jwt-secret", given: "\(secret)",
            expected:
                "at least \(shortest) bytes (it has \(secret.count)); make one with: openssl rand -base64 \(shortest)"
        )
    }
}
