/// Checks of the server's view of its clients, and of the clients' view of the server.
extension ProxyChecks {
    static func upstream(_ measured: Measurements) -> Finding {
        guard let arrival = measured.arrival else {
            return Finding(
                .upstream, .notMeasured,
                "The server did not answer GET /diagnostics/request: it is older, or the proxy blocks the path."
            )
        }
        guard arrival.http != "1.0" else {
            return Finding(
                .upstream, .wrong,
                "Requests reach the server as HTTP/1.0: streams are not chunked, so a cut looks like an end, and each request takes a new connection.",
                Advice(
                    "Speak HTTP/1.1 to the server.", nginx: "proxy_http_version 1.1; proxy_set_header Connection \"\";",
                    apache: "no force-proxy-request-1.0"))
        }
        guard arrival.keepsConnection else {
            return Finding(
                .upstream, .warning,
                "Requests reach the server as HTTP/1.1, each on a new connection.",
                Advice(
                    "Keep connections to the server open.",
                    nginx: "proxy_set_header Connection \"\"; and keepalive 64; in the upstream",
                    haproxy: "no option httpclose; http-reuse always",
                    apache: "no proxy-nokeepalive, no disablereuse=on"))
        }
        return Finding(.upstream, .ok, "Requests reach the server as HTTP/1.1, on persistent connections.")
    }

    static func clientAddress(_ measured: Measurements) -> Finding {
        guard let arrival = measured.arrival else {
            return Finding(.clientAddress, .notMeasured, "The server did not answer GET /diagnostics/request.")
        }
        let writes = Advice(
            "Have the proxy write the client's address, and start the server with --trusted-proxy and the proxy's address.",
            nginx: "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header Forwarded \"\";",
            haproxy: "option forwardfor; http-request del-header Forwarded",
            apache: "ProxyAddHeaders On (the default); RequestHeader unset Forwarded")
        let shares = "all clients share the quotas of one address"
        switch arrival.forwarded {
        case "used":
            return countedAddress(arrival, forged: measured.forgedArrival, writes)
        case "untrusted":
            return Finding(
                .clientAddress, .wrong,
                "A proxy writes the client's address, but the server does not trust the proxy: \(shares).",
                Advice("Start the server with --trusted-proxy and the address by which the proxy reaches it."))
        case "missing":
            return Finding(.clientAddress, .wrong, "The trusted proxy writes no X-Forwarded-For: \(shares).", writes)
        case "unclear":
            return Finding(
                .clientAddress, .wrong,
                "The trusted proxy's X-Forwarded-For cannot be read, or Forwarded contradicts it: \(shares).", writes)
        case "none":
            guard
                measured.address.isSecure || measured.viaField != nil
                    || Proxy(serverField: measured.serverField) != nil
            else {
                return Finding(.clientAddress, .ok, "No proxy was detected: the server uses the connection's address.")
            }
            return Finding(
                .clientAddress, .wrong,
                "There is a proxy (the server has no TLS and no other Server field), which writes no X-Forwarded-For: \(shares).",
                writes)
        default:
            return Finding(.clientAddress, .notMeasured, "This version of doctor does not know the server's answer.")
        }
    }

    /// Judges the address that a trusted proxy reported, and a forged one.
    private static func countedAddress(
        _ arrival: RequestArrival, forged: RequestArrival?, _ writes: Advice
    ) -> Finding {
        let name = Readable.text(arrival.client ?? "unknown")
        guard forged?.client == Measurements.forgedClient else {
            return Finding(
                .clientAddress, .ok, "The server counts this machine as \(name), also with forged fields.")
        }
        var advice = writes
        if forged?.clientIsTrusted == true {
            advice.text = "List only your own proxies in --trusted-proxy: it has an address that is not a proxy's."
        } else if arrival.clientIsTrusted == true {
            // This machine is trusted rightly.
            return Finding(
                .clientAddress, .notMeasured,
                "The server counts this machine as \(name). It is listed in --trusted-proxy, so it may report other addresses.",
                Advice("Run doctor on another machine to check whether clients can forge addresses."))
        } else {
            advice.text = "Have the proxy add to X-Forwarded-For, and remove a Forwarded that a client sent."
        }
        return Finding(
            .clientAddress, .wrong,
            "A client can forge its address with forwarding fields: quotas have no effect.",
            advice)
    }

    static func origin(_ measured: Measurements) -> Finding {
        guard let own = measured.ownOrigin else { return Finding(.origin, .notMeasured, "No session could be made.") }
        let address = "\(measured.address)"
        switch own {
        case .answer(let answer) where answer.problem == "cross-site":
            return Finding(
                .origin, .wrong,
                "A POST with Origin: \(address) is refused as another site's (403 cross-site): pages at this address cannot send intents where the browser sends no Sec-Fetch-Site.",
                Advice(
                    "Start the server with --public-url \(address), or have the proxy pass Host on.",
                    nginx: "proxy_set_header Host $http_host;", haproxy: "no http-request set-header Host",
                    apache: "ProxyPreserveHost On"))
        case .answer(let answer) where answer.problem == nil && measured.losesProblems:
            return Finding(.origin, .notMeasured, "The answers (\(words(own))) are not from the server.")
        case .answer(let answer) where answer.problem == nil:
            return Finding(
                .origin, .wrong, "A POST with Origin: \(address) did not reach the server: \(words(own)).",
                Advice("Have the proxy pass POST with Origin on for all paths."))
        case .failure: return Finding(.origin, .notMeasured, "A POST with Origin: \(address) got \(words(own)).")
        case .answer: break
        }
        guard let foreign = measured.foreignOrigin?.answer?.problem else {
            return Finding(.origin, .ok, "A POST with Origin: \(address) is accepted.")
        }
        guard foreign == "cross-site" else {
            return Finding(
                .origin, .wrong,
                "A POST with the Origin of another site is not refused: the server did not see it (\(foreign)).",
                Advice(
                    "Have the proxy pass Origin on as the browser sent it.",
                    nginx: "no proxy_set_header Origin",
                    haproxy: "no http-request del-header Origin or set-header Origin",
                    apache: "no RequestHeader unset Origin"))
        }
        return Finding(.origin, .ok, "A POST with Origin: \(address) is accepted, one of another site is refused.")
    }

    static func cookie(_ measured: Measurements) -> Finding {
        guard let sample = measured.cookie else { return Finding(.cookie, .notMeasured, "No session could be made.") }
        guard let status = sample.made.status, 200...201 ~= status else {
            return Finding(.cookie, .notMeasured, "POST /sessions for a cookie: \(words(sample.made)).")
        }
        guard let cookie = sample.setCookie else {
            return Finding(
                .cookie, .wrong, "The answer to POST /sessions has no cookie: Set-Cookie is removed on the path.",
                Advice(
                    "Have the proxy pass Set-Cookie on.", nginx: "no proxy_hide_header Set-Cookie",
                    haproxy: "no http-response del-header Set-Cookie", apache: "no Header unset Set-Cookie"))
        }
        let attributes = cookie.split(separator: ";").dropFirst().map {
            $0.drop { $0 == " " }.lowercased()
        }
        let isBound = cookie.hasPrefix("__Host-") && attributes.contains("secure")
        let setPublicURL = Advice("Start the server with --public-url \(measured.address).")
        if measured.address.isSecure, !isBound {
            return Finding(
                .cookie, .wrong,
                "The cookie of an https address is neither __Host- nor Secure: the server does not know its public address.",
                setPublicURL)
        }
        if !measured.address.isSecure, isBound || attributes.contains("secure") {
            return Finding(
                .cookie, .wrong,
                "The cookie is Secure, which browsers refuse from an http address: the server's --public-url is another address.",
                setPublicURL)
        }
        guard attributes.contains("path=/"), !attributes.contains(where: { $0.hasPrefix("domain=") }) else {
            return Finding(
                .cookie, .wrong,
                "The cookie's Path or Domain was changed on the path: \(attributes.joined(separator: "; ")).",
                Advice(
                    "Have the proxy pass cookies on unchanged.",
                    nginx: "proxy_cookie_path off; proxy_cookie_domain off;",
                    haproxy: "no http-response replace-header Set-Cookie",
                    apache: "no ProxyPassReverseCookiePath, no ProxyPassReverseCookieDomain"))
        }
        guard let used = sample.used, used.status == 200 else {
            return Finding(
                .cookie, .wrong,
                "A request with the cookie was not answered for its session: \(sample.used.map(words) ?? "it was not sent").",
                Advice(
                    "Have the proxy pass Cookie on.", nginx: "no proxy_set_header Cookie",
                    haproxy: "no http-request del-header Cookie", apache: "no RequestHeader unset Cookie"))
        }
        let kind = isBound ? "__Host-, Secure" : "neither __Host- nor Secure, as for an http address"
        return Finding(.cookie, .ok, "The session's cookie works in both directions (\(kind)).")
    }

    static func clock(_ measured: Measurements) -> Finding {
        // A `Date` is a second between the request and the answer.
        var (least, most) = (-Double.infinity, Double.infinity)
        for answer in measured.dated {
            guard let date = answer["date"].flatMap({ HTTPDate.seconds(of: $0) }) else { continue }
            least = max(least, Double(date) - answer.received.milliseconds / 1_000)
            most = min(most, Double(date) + 1 - answer.sent.milliseconds / 1_000)
        }
        guard least.isFinite, most.isFinite else {
            return Finding(.clock, .notMeasured, "No answer had a Date.")
        }
        // Two servers behind one address may have different clocks.
        let (low, high) = (min(least, most), max(least, most))
        let certain = low > 0 ? low : high < 0 ? high : 0
        let range = "\(Self.signed(low)) to \(Self.signed(high)) s"
        guard abs(certain) > 2 else {
            return Finding(.clock, .ok, "The server's clock agrees with this machine's, by Date fields: \(range).")
        }
        let direction = certain > 0 ? "ahead of" : "behind"
        return Finding(
            .clock, abs(certain) > 30 ? .wrong : .warning,
            "The server's clock is \(direction) this machine's: \(range).",
            Advice(
                "Synchronize both clocks (NTP). An issuer's tokens are refused if the clocks differ by more than 30 s."
            ))
    }

    private static func signed(_ seconds: Double) -> String {
        let rounded = (seconds * 10).rounded() / 10
        return rounded > 0 ? "+\(rounded)" : "\(rounded)"
    }
}
