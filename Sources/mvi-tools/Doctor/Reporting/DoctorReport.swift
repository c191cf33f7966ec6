import WireJSON

/// The findings as text and as JSON.
struct DoctorReport: Sendable {
    let address: ServerAddress
    let findings: [Finding]
    /// The proxy that answers name; nil if unknown.
    let proxy: Proxy?
    /// The number of sessions that doctor could not end.
    let openSessions: Int

    init(_ measured: Measurements, openSessions: Int = 0) {
        address = measured.address
        findings = ProxyChecks.findings(measured)
        proxy = Proxy(serverField: measured.serverField)
        self.openSessions = openSessions
    }

    /// True if a finding is wrong.
    var isWrong: Bool { findings.contains { $0.verdict == .wrong } }

    /// The report for a terminal: a few lines for each check, at most 100 characters wide if words allow it.
    var text: String {
        var page = ["\(address)", ""]
        for finding in findings {
            let head = Self.padded(finding.verdict.rawValue, 14) + Self.padded(finding.check.rawValue, 18)
            page += Self.wrapped(finding.measured, first: head)
            guard let advice = finding.advice else { continue }
            page += Self.wrapped("-> " + advice.text, first: Self.indent)
            for (proxy, line) in lines(of: advice) {
                page += Self.wrapped("\(proxy.rawValue): \(line)", first: Self.indent + "   ")
            }
        }
        page += ["", summary]
        if openSessions > 0 {
            page.append("\(Readable.count(openSessions, "session")) of doctor could not be ended and will expire.")
        }
        return page.joined(separator: "\n") + "\n"
    }

    /// The report as one object: `url`, `wrong`, `warnings`, and `findings` with `check`, `verdict`, `measured`, and
    /// optionally `change` and `settings`.
    var json: [UInt8] {
        struct Document: Encodable {
            struct Item: Encodable {
                var check: String
                var verdict: String
                var measured: String
                var change: String?
                var settings: [String: String]?
            }

            var url: String
            var wrong: Int
            var warnings: Int
            var findings: [Item]
        }
        let items = findings.map { finding in
            let settings = finding.advice.map { lines(of: $0) } ?? []
            return Document.Item(
                check: finding.check.rawValue, verdict: finding.verdict.rawValue, measured: finding.measured,
                change: finding.advice?.text,
                settings: settings.isEmpty
                    ? nil
                    : Dictionary(uniqueKeysWithValues: settings.map { ($0.proxy.rawValue.lowercased(), $0.line) }))
        }
        let document = Document(
            url: "\(address)", wrong: count(.wrong), warnings: count(.warning), findings: items)
        // Texts and numbers can always be encoded.
        return ((try? WireJSON.encode(document)) ?? []) + [UInt8(ascii: "\n")]
    }

    private var summary: String {
        let counts = [
            (Verdict.wrong, "wrong"), (.warning, "to look at"), (.notMeasured, "not measured"), (.ok, "right"),
        ]
        .map { "\(count($0.0)) \($0.1)" }
        return counts.joined(separator: ", ") + "."
    }

    private func count(_ verdict: Verdict) -> Int { findings.count { $0.verdict == verdict } }

    /// The lines for the detected proxy, or for all proxies.
    private func lines(of advice: Advice) -> [(proxy: Proxy, line: String)] {
        Proxy.allCases.filter { proxy == nil || $0 == proxy }.compactMap { proxy in
            advice.lines[proxy].map { (proxy, $0) }
        }
    }

    private static let indent = String(repeating: " ", count: 32)

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    private static func wrapped(_ text: String, first: String) -> [String] {
        var lines: [String] = []
        var line = first
        var isEmpty = true
        for word in text.split(separator: " ") {
            if !isEmpty, line.count + word.count + 1 > 100 {
                lines.append(line)
                line = indent
                isEmpty = true
            }
            line += (isEmpty ? "" : " ") + word
            isEmpty = false
        }
        return lines + [line]
    }
}
