/// Checks of streams on their path.
extension ProxyChecks {
    /// Events later than this are buffered.
    static let late = Duration.seconds(1)
    /// Events later than this wait for a timer.
    static let slow = Duration.milliseconds(250)

    static func http2(_ measured: Measurements) -> Finding {
        if measured.http == "2" {
            return Finding(.http2, .ok, "The connection speaks HTTP/2: a browser may have many streams.")
        }
        guard measured.address.isSecure else {
            let text = "Plain HTTP: browsers speak HTTP/1.1 and have six connections for all tabs."
            if measured.isLoopback {
                return Finding(.http2, .notMeasured, text + " The address is this machine's own.")
            }
            return Finding(
                .http2, .warning, text,
                Advice("Give clients an https address of a proxy that speaks HTTP/2; docs/proxies.md has settings."))
        }
        return Finding(
            .http2, .wrong,
            "The proxy does not offer HTTP/2: a browser has six connections for all its tabs, and the seventh stream waits.",
            Advice(
                "Offer HTTP/2.", nginx: "listen 443 ssl http2;  (from 1.25.1 on: http2 on;)",
                haproxy: "bind :443 ssl crt … alpn h2,http/1.1", apache: "Protocols h2 http/1.1"))
    }

    static func streamsTogether(_ measured: Measurements) -> Finding {
        guard let sample = measured.together else {
            return Finding(.streamsTogether, .notMeasured, "No streams could be opened.")
        }
        if sample.live == 0, measured.plainStream?.firstEvent == nil {
            return Finding(
                .streamsTogether, .notMeasured, "A single stream shows no event; see the finding on buffering.")
        }
        let place = sample.http == "2" ? "on one HTTP/2 connection" : "on HTTP/1.1 connections of their own"
        let intent = "an intent meanwhile: \(words(sample.intent))"
        let isAnswered = sample.intent.status.map { $0 < 500 } ?? false
        let text = "\(sample.live) of \(sample.wanted) streams were live at once \(place); \(intent)."
        guard sample.live == sample.wanted, isAnswered else {
            return Finding(
                .streamsTogether, .wrong, text,
                Advice(
                    "Raise the proxy's limits of connections per client and of streams per HTTP/2 connection; an open stream takes one place.",
                    nginx: "http2_max_concurrent_streams, limit_conn, worker_connections",
                    haproxy: "tune.h2.max-concurrent-streams, maxconn", apache: "H2MaxSessionStreams, MaxRequestWorkers"
                ))
        }
        return Finding(.streamsTogether, .ok, text)
    }

    static func buffering(_ measured: Measurements) -> Finding {
        guard let stream = measured.plainStream else {
            return Finding(.buffering, .notMeasured, "No stream could be opened.")
        }
        let advice = Advice(
            "Have the proxy pass on each byte of text/event-stream at once.",
            nginx: "proxy_buffering off;  (and no proxy_ignore_headers X-Accel-Buffering)",
            haproxy: "no option http-buffer-request, no filter that collects answers; option http-no-delay",
            apache: "flushpackets=on on the ProxyPass or BalancerMember; no SetOutputFilter that collects")
        guard let first = stream.firstEvent else {
            if stream.cameAtItsEnd {
                return Finding(
                    .buffering, .wrong,
                    "No event came in \(Readable.time(stream.patience)); the first one came when the stream had been ended: something on the path buffers the stream's bytes.",
                    advice)
            }
            return Finding(.buffering, .wrong, "No event of the stream came: \(reason(stream)).", advice)
        }
        let usual = measured.roundTrips.median ?? .zero
        let lateness = max(.zero, first - usual)
        var text =
            "The first event came after \(Readable.time(first)) (a small request takes \(Readable.time(usual)))"
        if let least = measured.eventDelays.min(), let most = measured.eventDelays.max() {
            text +=
                "; \(Readable.count(measured.eventDelays.count, "change")) came \(Readable.time(least)) to \(Readable.time(most)) after the answer to its request"
        }
        if measured.missingEvents > 0 {
            text +=
                "; \(Readable.count(measured.missingEvents, "event")) did not come in \(Readable.time(stream.patience))"
        }
        if let lump = measured.quietStream.flatMap({ lump(of: $0) }) {
            text += "; heartbeats that are \(Readable.time(lump.sent)) apart came \(Readable.time(lump.arrived)) apart"
            return Finding(.buffering, .wrong, text + ".", advice)
        }
        let least = min(lateness, measured.eventDelays.min() ?? lateness)
        if measured.missingEvents > 0 || lateness > late || (measured.eventDelays.min() ?? .zero) > late {
            return Finding(.buffering, .wrong, text + ".", advice)
        }
        return least > slow
            ? Finding(.buffering, .warning, text + ": each waits for something.", advice)
            : Finding(.buffering, .ok, text + ".")
    }

    /// Two heartbeats that arrived closer together or further apart than they were sent.
    private static func lump(of sample: QuietSample) -> (sent: Duration, arrived: Duration)? {
        for (one, next) in zip(sample.pings, sample.pings.dropFirst()) {
            let (sent, arrived) = (next.sent - one.sent, next.arrival - one.arrival)
            if max(sent - arrived, arrived - sent) > late * 2 { return (sent, arrived) }
        }
        return nil
    }

    private static func reason(_ stream: StreamSample) -> String {
        if let failure = stream.failure { return failure }
        guard let head = stream.head else { return "no answer in \(Readable.time(stream.patience))" }
        return head.status == 200 ? "only its head came" : words(.answer(head))
    }

    static func compression(_ measured: Measurements) -> Finding {
        guard let encoded = measured.encodedHead else {
            return Finding(.compression, .notMeasured, "No stream could be opened.")
        }
        guard let encoding = encoded.encoding else {
            // Buffering hides the head, too.
            guard encoded.head != nil else {
                return Finding(.compression, .notMeasured, "No head of a stream came: \(reason(encoded)).")
            }
            return Finding(
                .compression, .ok, "Streams are not compressed for a client that offers gzip, deflate, br and zstd.")
        }
        let advice = Advice(
            "Do not compress text/event-stream: a compressor buffers events.",
            nginx: "no text/event-stream in gzip_types and brotli_types",
            haproxy: "no text/event-stream in compression type",
            apache:
                "SetEnvIfExpr \"%{HTTP_ACCEPT} =~ /event-stream/\" no-gzip, or only other types in AddOutputFilterByType"
        )
        let name = Readable.text(encoding)
        guard let decoded = measured.decodedStream else {
            return Finding(
                .compression, .warning, "Streams are compressed (\(name)); whether events are late was not measured.",
                advice)
        }
        guard let first = decoded.firstEvent, first - (measured.roundTrips.median ?? .zero) < late else {
            return Finding(
                .compression, .wrong,
                "Streams are compressed (\(name)), and events are buffered: \(decoded.firstEvent.map { "the first came after \(Readable.time($0))" } ?? "none came in \(Readable.time(decoded.patience))").",
                advice)
        }
        return Finding(
            .compression, .warning,
            "Streams are compressed (\(name)); events came in time (\(Readable.time(first))).", advice)
    }

    static func silence(_ measured: Measurements) -> Finding {
        guard let sample = measured.quietStream, let heartbeat = sample.heartbeat else {
            return Finding(.silence, .notMeasured, "No stream showed its first event.")
        }
        let pings = Readable.count(sample.pings.count, "heartbeat")
        let text =
            "A quiet stream was watched for \(Readable.time(sample.watched)): \(pings) (one each \(heartbeat) s), longest silence \(Readable.time(sample.longestSilence))"
        let advice = Advice(
            "Raise the proxy's timeout above a heartbeat, or lower the server's --heartbeat.",
            nginx: "proxy_read_timeout 75s; proxy_send_timeout 75s; send_timeout 75s;",
            haproxy: "timeout server 75s, timeout client 75s",
            apache: "Timeout 75, and timeout=75 on the ProxyPass or BalancerMember")
        switch sample.end {
        case .cut(let how):
            return Finding(
                .silence, .wrong,
                "A quiet stream ended after \(Readable.time(sample.watched)) without an event from the server (\(Readable.text(how))); \(pings) came, one is due each \(heartbeat) s.",
                advice)
        case .said(let reason):
            return Finding(
                .silence, .notMeasured,
                "The server ended the stream after \(Readable.time(sample.watched)) with goaway (\(Readable.text(reason)))."
            )
        case .open: break
        }
        // A heartbeat may come a tenth later.
        let due = Duration.seconds(heartbeat) * 1.1
        guard sample.watched > due else {
            return Finding(
                .silence, .notMeasured, text + ".",
                Advice("Watch for longer than a heartbeat: --wait \(heartbeat * 2 + heartbeat / 2)."))
        }
        if sample.pings.isEmpty, sample.watched > due + late {
            return Finding(
                .silence, .wrong, text + ": they are buffered on the path.",
                Advice("See the findings on buffering and compression."))
        }
        return Finding(.silence, .ok, text + ".")
    }
}
