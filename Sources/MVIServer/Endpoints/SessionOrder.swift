import MVI
import SessionJournal
import Sessions
import WireJSON

/// The body of a request to make a session or to sign in: `{"credential":"cookie","identity":"…","shared":true}`.
struct SessionOrder {
    let credential: SessionCredential
    /// The proof of identity, such as a JWT.
    let identity: String?
    /// True if the subject's devices share the session.
    let shared: Bool
    /// True if an anonymous session keeps its stores at sign-in.
    let keepsStores: Bool
    /// The client's locale and time zone; nil if the body has neither.
    let settings: ClientSettings?

    private struct Body: Decodable {
        let credential: String?
        let identity: String?
        let shared: Bool?
        let keep: Bool?
        let locale: String?
        let timeZone: String?
    }

    /// Decodes a body; an empty body has the defaults.
    init(_ bytes: [UInt8]) throws(Problem) {
        guard !bytes.isEmpty else {
            (credential, identity, shared, keepsStores, settings) = (.bearer, nil, false, true, nil)
            return
        }
        let body: Body
        do throws(WireDecodingError) {
            body = try WireJSON.decode(Body.self, from: bytes)
        } catch {
            switch error {
            case .malformed(let offset, let reason):
                throw Problem(.invalidJSON, "The body is not JSON at byte \(offset): \(reason).")
            case .mismatch:
                throw Problem(.badRequest, "The body must be an object such as {\"credential\":\"cookie\"}.")
            }
        }
        switch body.credential {
        case nil, "bearer": credential = .bearer
        case "cookie": credential = .cookie
        default: throw Problem(.badRequest, "`credential` must be \"bearer\" or \"cookie\".")
        }
        settings = try ClientSettings(locale: body.locale, checked: body.timeZone)
        identity = body.identity
        shared = body.shared ?? false
        keepsStores = body.keep ?? true
    }
}
