import MVI
import Logging

/// The log lines at the start of serving.
enum StartLog {
    /// The files that are open without clients: the program's own, logs, a database, the listening sockets, epoll.
    private static let ownFiles = 64

    static func log(_ assembly: Assembly, openFiles: Int) {
        let settings = assembly.settings
        let address = url(settings.host, assembly.http.port)
        var metadata: Logger.Metadata = [
            "address": "\(address)",
            "features": "\(assembly.sessions.environment.features.definitions.map(\.name).joined(separator: ", "))",
            "open-files": "\(openFiles)",
            "max-streams": "\(settings.maxStreams)",
            "max-connections": "\(settings.maxConnections)",
        ]
        if let file = settings.unixSocket { metadata["unix-socket"] = "\(file.withoutInvisibles)" }
        if assembly.hasPage { metadata["page"] = "\((settings.publicURL?.text ?? address) + "/")" }
        if let admin = assembly.admin {
            metadata["admin"] = "\(url(settings.adminHost, admin.port))"
            metadata["admin-access"] = "\(adminAccess(AdminGuard.Rule(settings)))"
        }
        if settings.inspector != nil, let admin = assembly.admin {
            let page = "\(url(settings.adminHost, admin.port))/admin/inspector"
            metadata["inspector"] = "\(page)"
            if let token = settings.inspectorToken {
                if StandardError.isTerminal {
                    StandardError.say("The inspector, for this run: \(page)#token=\(token)", by: "inspector")
                } else {
                    do throws(StoreError) {
                        let now = assembly.sessions.environment.time.monotonic()
                        let file = try settings.inspectorLink?.write(page: page, now: now)
                        metadata["inspector-link-file"] = file.map { "\($0.withoutInvisibles)" }
                    } catch {
                        assembly.logger.warning("\(error)")
                    }
                }
            }
        }
        assembly.logger.info("Serving on \(address)", metadata: metadata)

        warn(ofProxiesIn: settings, assembly.logger)
        let needed = settings.maxStreams + settings.maxConnections + ownFiles
        if openFiles < needed {
            assembly.logger.warning(
                """
                The process may open \(openFiles) files, but --max-streams and --max-connections allow for \(needed): \
                connections beyond that are ended without an answer. Raise `ulimit -n`, or lower the two.
                """)
        }
    }

    /// Warns if programs other than a proxy may be at an address whose identity header is trusted.
    static func warn(ofProxiesIn settings: ServerSettings, _ logger: Logger) {
        guard let header = settings.identityHeader else { return }
        let doubtful = settings.trustedProxies.filter { $0.isWide || $0.meetsLoopback }
        guard !doubtful.isEmpty else { return }
        logger.warning(
            """
            Every program at these addresses can name any user in the identity header: programs on this machine, or on \
            all machines of a range. Give --trusted-proxy the proxy's own address, and nothing else may use it.
            """,
            metadata: [
                "header": "\(header)", "trusted-proxy": "\(doubtful.map(\.description).joined(separator: ", "))",
            ])
    }

    /// A description of the requests that the admin port answers besides health checks.
    static func adminAccess(_ rule: AdminGuard.Rule) -> String {
        switch rule {
        case .token: "with the admin token"
        case .inspector: "with the token of the inspector's link; metrics for programs on this machine"
        case .metrics: "metrics for programs on this machine; more with --admin-token"
        case .closed: "none: health only; more with --admin-token"
        }
    }

    /// Returns an address that a browser on this machine can open.
    static func url(_ host: String, _ port: UInt16) -> String {
        switch host {
        case "0.0.0.0", "::": "http://localhost:\(port)"
        case let host where host.contains(":"): "http://[\(host)]:\(port)"
        default: "http://\(host):\(port)"
        }
    }
}
