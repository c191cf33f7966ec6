import Locking
import MVI
import SessionJournal
import WireJSON

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The inspector's link in a file for its owner, where the standard error is no terminal: logs are kept and read by others.
/// It has a code that can be exchanged for this run's token once and for ten minutes, so that a copy of it is useless.
final class InspectorLink: Sendable {
    private static let life = Duration.seconds(600)

    private struct Kept {
        /// The page's address; nil while no file is used.
        var page: String?
        var code: AdminToken?
        var end = Duration.zero
    }

    /// In the data folder, or else in the folder for temporary files.
    private let path: String
    private let kept = Lock(Kept())

    init(dataFolder: String?) {
        let temporary = SettingsSource.variable("TMPDIR") ?? "/tmp"
        path =
            dataFolder.map { "\($0)/inspector-link" }
            ?? "\(temporary)/mvi-inspector-\(String(UInt64.random(in: .min ... .max), radix: 36))"
    }

    /// A text of about 128 random bits, from the system's generator, which is fit for secrets.
    static func secret() -> String {
        (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined(separator: "-")
    }

    /// Writes a link with a new code, which replaces the earlier one. Returns the file's path; nil while no file is used.
    ///
    /// - Parameters:
    ///   - page: the page's address, from the first time on.
    ///   - now: the monotonic time.
    /// - Throws: `StoreError` if it cannot be written.
    func write(page: String? = nil, now: Duration) throws(StoreError) -> String? {
        let code = Self.secret()
        let page = kept.withLock { kept -> String? in
            guard let page = page ?? kept.page else { return nil }
            kept = Kept(page: page, code: AdminToken(code), end: now + Self.life)
            return page
        }
        guard let page else { return nil }
        // Of an earlier run or link. The target of a symbolic link of this name is left unchanged.
        unlink(path)
        try PrivateFile.write(Array("\(page)#code=\(code)\n".utf8), to: path)
        return path
    }

    /// Returns true if the code is the file's, and deletes both.
    func take(_ code: some Collection<UInt8>, now: Duration) -> Bool {
        let isRight = kept.withLock { kept in
            guard now < kept.end, kept.code?.matches(code) == true else { return false }
            kept.code = nil
            return true
        }
        if isRight { unlink(path) }
        return isRight
    }
}

extension AdminEndpoints {
    /// The exchange of a link's code for the token, and requests of programs on this machine for another link.
    var linkRoutes: [Route] {
        [
            Route("adminOpenInspectorLink", .post, "/admin/inspector/token", .everyone(openLink)),
            Route("adminMakeInspectorLink", .post, "/admin/inspector/link", .everyone(makeLink)),
        ]
    }

    private static var noLink: Problem { Problem(.notFound, "The server has no file with a link to the inspector.") }

    @Sendable
    private func openLink(_ incoming: Incoming) throws(Problem) -> Route.Answer {
        guard let (link, token) = inspectorLink else { throw Self.noLink }
        try guarding.checkCode(incoming.head, link)
        logger?.notice("The inspector's link was opened", metadata: ["peer": "\(incoming.head.peer)"])
        var object = JSONObject()
        object.add("token", token)
        let answer = Self.json(200, object.close())
        return { _, reply in reply.answer(answer) }
    }

    @Sendable
    private func makeLink(_ incoming: Incoming) throws(Problem) -> Route.Answer {
        guard let (link, _) = inspectorLink else { throw Self.noLink }
        try guarding.checkLocal(incoming.head)
        return { [self] _, reply in
            answer(reply, on: nil) { () async throws(Problem) in
                let now = sessions.environment.time.monotonic()
                let path = try await asking { () async throws(StoreError) in try link.write(now: now) }
                guard let path else { throw Self.noLink }
                var object = JSONObject()
                object.add("file", path.withoutInvisibles)
                return Self.json(200, object.close())
            }
        }
    }
}
