import MVI
import Testing

extension TestStore {
    /// Asserts the next label and its addressee.
    public func expect(
        _ label: F.Label, to addressee: Addressee<F.Audience> = .everyone,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let expected = Inbox<F>.Published(label: label, to: addressee)
        await expect(expected.text, { $0.label == label && $0.to == addressee }, sourceLocation) { found in
            guard found.label != label else { return "- to \(addressee.text)\n+ to \(found.to.text)" }
            return difference(expected: label, actual: found.label)
        }
    }

    /// Asserts the next label, and that it is directed to these callers and to none of the other ones that the test has used.
    ///
    /// ```swift
    /// await store.expect(.tableReady, to: ann)
    /// ```
    public func expect(
        _ label: F.Label, to caller: TestCaller, _ others: TestCaller...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        @Sendable func names(_ callers: [TestCaller]) -> String {
            callers.isEmpty ? "no caller" : callers.map(\.session).sorted().joined(separator: ", ")
        }
        let expected = [caller] + others
        // Those that the expectation names count as used.
        for caller in expected { _ = sender(caller) }
        let everyone = world?.usedCallers ?? expected
        let meant = names(expected)
        let reached = { @Sendable [self] (found: Inbox<F>.Published) -> String in
            found.to == .everyone
                ? "everyone" : names(everyone.filter { isMeant($0, by: found) })
        }
        await expect(
            "\(describe(label)) to \(meant)", { $0.label == label && reached($0) == meant }, sourceLocation
        ) { found in
            guard found.label != label else { return "- to \(meant)\n+ to \(reached(found)), by \(found.to.text)" }
            return difference(expected: label, actual: found.label)
        }
    }

    private func isMeant(_ caller: TestCaller, by published: Inbox<F>.Published) -> Bool {
        let sender = sender(caller)
        switch published.to.kind {
        case .everyone: return true
        case .audience(let audience):
            return feature.audience(of: viewer(caller)) == audience
        case .sender: return published.sender?.id == sender.id
        case .subject(let subject): return sender.subject == subject
        case .session(let id): return sender.session == id
        }
    }

    private func expect(
        _ expectation: String, _ isExpected: @escaping @Sendable (Inbox<F>.Published) -> Bool,
        _ sourceLocation: SourceLocation, mismatch: (Inbox<F>.Published) -> String
    ) async {
        await settle(sourceLocation)
        let isExhaustive = isExhaustive
        let inbox = inbox
        await wait { isExhaustive ? !inbox.open.labels.isEmpty : inbox.open.labels.contains(where: isExpected) }
        let labels = inbox.takeLabels { isExhaustive || isExpected($0) }
        guard let found = labels.last else {
            return fail(
                "Expected the label \(expectation), but it was not published.\(whatMayBeMissing)", sourceLocation)
        }
        showSkipped(Inbox.Open(labels: labels.dropLast()), sourceLocation)
        guard !isExpected(found) else { return }
        fail(
            """
            Another label was published than expected (- expected, + published):
            \(mismatch(found))
            """, sourceLocation)
    }
}

extension Addressee {
    /// The addressee in texts of failures.
    var text: String {
        switch kind {
        case .everyone: "everyone"
        case .audience(let audience): "audience \(describe(audience))"
        case .sender: "sender"
        case .subject(let subject): "subject \(subject)"
        case .session(let id): "session \(id)"
        }
    }
}
