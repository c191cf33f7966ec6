import Foundation
import TestSupport
import Testing

@testable import JWTAuthentication

@Suite(
    "JWTs of another program",
    .enabled(if: Python.hasJWT, "python3-jwt and python3-cryptography are missing; script/bootstrap installs them"))
struct PythonTests {
    /// The output of PyJWT.
    private struct Made: Decodable {
        /// Valid tokens by algorithm.
        let tokens: [String: String]
        /// Invalid tokens by their defect.
        let bad: [String: String]
        let keys: String
        let secret: String
    }

    private static let script = """
        import base64, json, jwt
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

        def text(number, size): return base64.urlsafe_b64encode(number.to_bytes(size, "big")).decode().rstrip("=")

        claims = {"iss": "\(TestIssuer.name)", "aud": ["\(TestIssuer.audience)"], "sub": "user-7", "name": "Zoë 🦊",
                  "exp": \(beginning + 600), "iat": \(beginning), "nbf": \(beginning), "roles": ["admin"]}
        rsa_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        numbers = rsa_key.public_key().public_numbers()
        keys = [{"kty": "RSA", "kid": "rsa", "use": "sig", "n": text(numbers.n, 256), "e": text(numbers.e, 3)}]
        signers = {name: (rsa_key, "rsa") for name in ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]}
        for name, curve, curve_name, size in [("ES256", ec.SECP256R1(), "P-256", 32), ("ES384", ec.SECP384R1(), "P-384", 48),
                                              ("ES512", ec.SECP521R1(), "P-521", 66)]:
            key = ec.generate_private_key(curve)
            point = key.public_key().public_numbers()
            keys.append({"kty": "EC", "kid": name, "crv": curve_name, "x": text(point.x, size), "y": text(point.y, size)})
            signers[name] = (key, name)
        ed_key = ed25519.Ed25519PrivateKey.generate()
        keys.append(dict(json.loads(jwt.algorithms.OKPAlgorithm.to_jwk(ed_key.public_key())), kid="ed"))
        signers["EdDSA"] = (ed_key, "ed")
        secret = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
        tokens = {name: jwt.encode(claims, key, algorithm=name, headers={"kid": kid}) for name, (key, kid) in signers.items()}
        tokens.update({name: jwt.encode(claims, secret, algorithm=name) for name in ["HS256", "HS384", "HS512"]})
        def changed(**changes): return jwt.encode(dict(claims, **changes), ed_key, algorithm="EdDSA", headers={"kid": "ed"})
        bad = {"expired": changed(exp=\(beginning - 31)), "early": changed(nbf=\(beginning + 31)),
               "audience": changed(aud="other"), "issuer": changed(iss="https://other.example.com/"),
               "none": jwt.encode(claims, None, algorithm="none", headers={"kid": "ed"}),
               "kid": jwt.encode(claims, ed_key, algorithm="EdDSA", headers={"kid": "ES256"}),
               "key": jwt.encode(claims, ed25519.Ed25519PrivateKey.generate(), algorithm="EdDSA", headers={"kid": "ed"})}
        print(json.dumps({"tokens": tokens, "bad": bad, "keys": json.dumps({"keys": keys}), "secret": secret}))
        """

    @Test("tokens and keys of PyJWT sign in with every algorithm, and its invalid tokens do not")
    func tokens() async throws {
        let output = try await offThePool { try Python.output(Self.script) }
        let made = try JSONDecoder().decode(Made.self, from: output)
        #expect(Set(made.tokens.keys) == Set(SignatureAlgorithm.allCases.map(\.rawValue)))
        let published = try await TestWorld(Array(made.keys.utf8)).authenticator()
        let shared = try await TestWorld().authenticator(JWTSecret(made.secret), SignatureAlgorithm.symmetric)
        for algorithm in SignatureAlgorithm.allCases {
            let token = try #require(made.tokens[algorithm.rawValue])
            let (own, other) = algorithm.isSymmetric ? (shared, published) : (published, shared)
            let principal = try await own.verdict(token).principal
            #expect(principal?.subject == "user-7", "\(algorithm)")
            #expect(principal?.claim("name") == "Zoë 🦊")
            #expect(try await other.verdict(token).code == .rejected)
        }
        #expect(made.bad.count == 7)
        for (name, token) in made.bad {
            #expect(try await published.verdict(token).code == (name == "expired" ? .expired : .rejected), "\(name)")
        }
    }

    /// Serves TLS with a self-signed certificate, and prints its port first.
    private static let server = """
        import datetime, ipaddress, socket, ssl, tempfile
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
        now = datetime.datetime.utcnow()
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        certificate = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
            .serial_number(1).not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1)).add_extension(names, critical=False).sign(key, hashes.SHA256()))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.NamedTemporaryFile() as file:
            file.write(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                         serialization.NoEncryption()))
            file.write(certificate.public_bytes(serialization.Encoding.PEM))
            file.flush()
            context.load_cert_chain(file.name)
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        while True:
            connection = listener.accept()[0]
            try:
                with context.wrap_socket(connection, server_side=True) as stream:
                    stream.recv(4096)
                    stream.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n{}")
            except OSError:
                pass
        """

    @Test("a server with an untrusted certificate is refused")
    func certificate() async throws {
        let (port, end) = try await Python.begin(Self.server)
        defer { end() }
        try #require(UInt16(port) != nil)
        do throws(KeyReadError) {
            let content = try await KeyDownload()("https://127.0.0.1:\(port)/keys")
            Issue.record("it was believed: \(content)")
        } catch {
            #expect(error.description.contains("does not trust the server's certificate"), "\(error)")
        }
    }
}
