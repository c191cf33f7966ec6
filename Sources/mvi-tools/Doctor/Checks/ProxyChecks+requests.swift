/// Checks of requests on their path.
extension ProxyChecks {
    static func health(_ measured: Measurements) -> Finding {
        let ways = [
            ("/health/live", measured.live, "live"), ("/health/ready", measured.ready, "ready"),
        ]
        let admin = [
            ("the admin address's /health/live", measured.adminLive, "live"),
            ("the admin address's /health/ready", measured.adminReady, "ready"),
        ]
        let asked = (ways + admin).compactMap { path, exchange, status in exchange.map { (path, $0, status) } }
        guard !asked.isEmpty else { return Finding(.health, .notMeasured, "The health checks were not requested.") }
        let text = asked.map { "\($0.0): \(words($0.1))" }.joined(separator: "; ")
        let bad = asked.filter { path, exchange, status in !isHealthy(exchange, status) }
        guard let first = bad.first else { return Finding(.health, .ok, text) }
        if let problem = bad.compactMap({ $0.1.answer?.problem }).first {
            return Finding(
                .health, .wrong, text,
                Advice("The server says that it is not ready (\(problem)); its log has the cause."))
        }
        if bad.contains(where: { $0.0.hasPrefix("the admin") }) {
            return Finding(
                .health, .wrong, text,
                Advice(
                    "The admin address (\(first.0)) does not answer: start the server with --admin-port, and with --admin-host if other machines ask."
                ))
        }
        let isAskedElsewhere = measured.adminLive != nil
        return Finding(
            .health, isAskedElsewhere ? .ok : .warning,
            text + (isAskedElsewhere ? " (the admin address is healthy)" : ""),
            isAskedElsewhere
                ? nil
                : Advice(
                    "The proxy blocks the health checks. That is right if load balancers use the admin address (--admin-port): give it to doctor with --admin. Otherwise pass /health/ on."
                ))
    }

    private static func isHealthy(_ exchange: Attempt, _ status: String) -> Bool {
        guard let answer = exchange.answer, answer.status == 200 else { return false }
        return Wire.read(HealthDocument.self, answer.body)?.status == status
    }

    static func sessions(_ measured: Measurements) -> Finding {
        guard let refusal = measured.sessionRefusal else {
            let trips = measured.roundTrips.median.map { "; small requests take \(Readable.time($0))" } ?? ""
            return Finding(.sessions, .ok, "Sessions can be made and ended\(trips).")
        }
        switch refusal.answer?.problem {
        case "identity-required", "identity-rejected", "identity-expired":
            return Finding(
                .sessions, .notMeasured, "POST /sessions: \(words(refusal)).",
                Advice(
                    "The server requires sign-in: give an identity with --identity, or the proxy's field with --header."
                )
            )
        case .some:
            return Finding(
                .sessions, .wrong, "POST /sessions: \(words(refusal)).",
                Advice("The server refuses new sessions; the problem's page at /problems/ explains it."))
        case nil:
            return Finding(
                .sessions, .wrong, "POST /sessions: \(words(refusal)).",
                Advice(
                    "The request does not reach the server: have the proxy pass POST, PUT and DELETE on for all paths.")
            )
        }
    }

    static func refusals(_ measured: Measurements) -> Finding {
        guard !measured.refusals.isEmpty else { return Finding(.refusals, .notMeasured, "No refusal was requested.") }
        let bad = measured.refusals.filter { $0.exchange.answer?.problem == nil || $0.exchange.status != $0.status }
        guard !bad.isEmpty else {
            let text = measured.refusals.map { "\($0.status)" }.joined(separator: ", ")
            return Finding(.refusals, .ok, "Problem documents arrive as the server writes them (\(text)).")
        }
        return Finding(
            .refusals, .wrong,
            bad.map { "\($0.request): \(words($0.exchange)), not a problem document with \($0.status)" }
                .joined(separator: "; ") + ".",
            Advice(
                "The proxy puts pages of its own in place of the server's problem documents, by which clients decide what to do.",
                nginx: "proxy_intercept_errors off;  (error_page only for 502 and 504)",
                haproxy: "no http-response return and no errorfile rule for statuses of the server",
                apache: "ProxyErrorOverride Off"))
    }

    static func requestFields(_ measured: Measurements) -> Finding {
        var arrived: [String] = []
        var lost: [String] = []
        switch measured.lastEventIDArrived {
        case true?: arrived.append("Last-Event-ID")
        case false?: lost.append("Last-Event-ID")
        case nil: break
        }
        if let long = measured.longKey {
            // 400 bad-request is about the key, 422 about the intent, which is checked later.
            switch (long.status, long.answer?.problem) {
            case (400?, "bad-request"?): arrived.append("Idempotency-Key")
            case (422?, .some): lost.append("Idempotency-Key")
            default: break
            }
        }
        switch measured.foreignSite?.answer?.problem {
        case "cross-site"?: arrived.append("Sec-Fetch-Site")
        case .some: lost.append("Sec-Fetch-Site")
        case nil: break
        }
        guard lost.isEmpty else {
            return Finding(
                .requestFields, .wrong, "\(lost.joined(separator: " and ")) did not reach the server.",
                Advice(
                    "Have the proxy pass these fields on: without Last-Event-ID streams do not resume, without Idempotency-Key repeated intents run twice, and without Sec-Fetch-Site pages of other sites are not refused.",
                    nginx: "no proxy_set_header with an empty value for them", haproxy: "no http-request del-header",
                    apache: "no RequestHeader unset"))
        }
        guard !arrived.isEmpty else {
            return Finding(.requestFields, .notMeasured, "No answer showed whether fields arrive.")
        }
        return Finding(.requestFields, .ok, "\(arrived.joined(separator: ", ")) reached the server.")
    }

    static func entityTags(_ measured: Measurements) -> Finding {
        guard let tags = measured.tags else {
            return Finding(.entityTags, .notMeasured, "No feature without a key could be read.")
        }
        let asked = tags.compressed ?? "none"
        let advice = Advice(
            "A proxy that compresses states changes their tags, so intents with If-Match get 412. Do not compress application/json.",
            nginx: "no application/json in gzip_types", haproxy: "no application/json in compression type",
            apache: "no application/json in AddOutputFilterByType DEFLATE, or DeflateAlterETag NoChange")
        guard asked == tags.plain, tags.conditional == 304 else {
            let status = tags.conditional.map { "\($0)" } ?? "nothing"
            return Finding(
                .entityTags, .wrong,
                "The state's tag is \(Readable.text(tags.plain)), and \(Readable.text(asked)) for a client that accepts compressed answers; If-None-Match with that got \(status), expected 304.",
                advice)
        }
        if let encoding = tags.jsonEncoding {
            return Finding(
                .entityTags, .warning,
                "This state's tag is unchanged, but larger JSON answers are compressed (\(Readable.text(encoding))), which may change the tags of larger states.",
                advice)
        }
        return Finding(.entityTags, .ok, "A state's tag is the same with and without compression; If-None-Match works.")
    }

    static func bodySize(_ measured: Measurements) -> Finding {
        guard let largest = measured.bodies.max(by: { $0.bytes < $1.bytes }) else {
            return Finding(.bodySize, .notMeasured, "No body was sent.")
        }
        guard !measured.losesProblems || measured.bodies.contains(where: { $0.exchange.answer?.problem != nil }) else {
            return Finding(
                .bodySize, .notMeasured,
                "The answers (\(words(largest.exchange))) are not from the server.")
        }
        let taken = measured.bodies.filter { $0.exchange.answer?.problem != nil }.max { $0.bytes < $1.bytes }
        if let taken, taken.bytes == largest.bytes {
            return Finding(
                .bodySize, .ok, "A body of \(largest.bytes) bytes reached the server (\(words(taken.exchange))).")
        }
        let advice = Advice(
            "Set the proxy's limit above the server's (--body-limit, 1 MiB by default), so that the server refuses larger bodies, with a problem document.",
            nginx: "client_max_body_size 2m;", haproxy: "no http-request deny by req.body_size",
            apache: "SecRequestBodyLimit 2097152 (mod_security); LimitRequestBody does not count what is passed on")
        guard let taken else {
            return Finding(
                .bodySize, .wrong,
                "Bodies of \(measured.bodies.map { "\($0.bytes)" }.joined(separator: ", ")) bytes did not reach the server: \(words(largest.exchange)).",
                advice)
        }
        // The server's limit by default.
        let verdict: Verdict = taken.bytes >= Measurements.usualBodyLimit ? .warning : .wrong
        return Finding(
            .bodySize, verdict,
            "A body of \(largest.bytes) bytes got \(words(largest.exchange)); one of \(taken.bytes) bytes reached the server.",
            advice)
    }
}

extension Measurements {
    /// True if a proxy replaces problem documents, on which other measurements depend.
    var losesProblems: Bool {
        refusals.contains { $0.exchange.answer?.problem == nil && $0.exchange.status == $0.status }
    }

    /// The server's default limit in bytes.
    static let usualBodyLimit = 1_048_576
}
