import Locking
import MVIClient
import WireJSON

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Writes bytes past C's buffers: a reader of standard input holds a lock of theirs.
func writeAll(_ bytes: [UInt8], to descriptor: Int32) {
    var rest = bytes[...]
    while !rest.isEmpty {
        let written = write(descriptor, Array(rest), rest.count)
        guard written > 0 else { return }
        rest.removeFirst(written)
    }
}

/// One line for the kit, written as it is made of its members.
struct Report {
    private var line: [UInt8]

    init(_ saw: String) {
        line = Array(#"{"saw":"#.utf8)
        WireJSON.appendString(saw, to: &line)
    }

    private mutating func name(_ name: String) {
        line.append(UInt8(ascii: ","))
        WireJSON.appendString(name, to: &line)
        line.append(UInt8(ascii: ":"))
    }

    func with(_ member: String, _ value: String?) -> Report {
        var report = self
        report.name(member)
        if let value { WireJSON.appendString(value, to: &report.line) } else { report.line += Array("null".utf8) }
        return report
    }

    func with(_ member: String, _ value: UInt64) -> Report {
        var report = self
        report.name(member)
        WireJSON.appendInteger(value, to: &report.line)
        return report
    }

    func with(_ member: String, _ value: Bool) -> Report { with(member, json: Array("\(value)".utf8)) }

    func with(_ member: String, json: [UInt8]) -> Report {
        var report = self
        report.name(member)
        report.line += json
        return report
    }

    /// Writes the line, one at a time.
    func print() {
        Self.output.withLock { _ in writeAll(line + Array("}\n".utf8), to: 1) }
    }

    private static let output = Lock(())
}

extension Report {
    init(_ event: RawClient.Event) {
        switch event {
        case .state(let feature, let version, let state):
            self = Report("state").with("feature", feature).with("version", version).with("state", json: state)
        case .label(let feature, let id, let isReplay, let label):
            self = Report("label").with("feature", feature).with("id", id).with("replay", isReplay)
                .with("label", json: label)
        case .readLabel(let feature, let label):
            self = Report("label").with("feature", feature).with("label", json: label)
        case .presence(let feature, let presence):
            let viewers = presence?.viewers(as: JSONText.self).map { String(decoding: $0.bytes, as: UTF8.self) }
            let json = presence.map { #"{"count":\#($0.count),"viewers":[\#(viewers?.joined(separator: ",") ?? "")]}"# }
            self = Report("presence").with("feature", feature).with("presence", json: Array((json ?? "null").utf8))
        case .ended(let feature): self = Report("end").with("feature", feature)
        case .denied(let feature): self = Report("denied").with("feature", feature)
        case .reset(let reason, let labelsLost):
            self = Report("reset").with("reason", reason).with("labelsLost", labelsLost)
        case .abandoned(let feature, let intent):
            self = Report("abandoned").with("feature", feature).with("intent", json: Array(intent.utf8))
        case .condition(let condition): self = Report("condition").with("condition", Self.name(of: condition))
        }
    }

    /// Reports the outcome of an intent.
    init(_ result: Result<IntentReceipt, any Error>, of tag: String) {
        switch result {
        case .success(let receipt): self = Report("sent").with("tag", tag).with("version", receipt.version)
        case .failure(let error):
            let problem = (error as? RemoteError)?.problem
            let refused = Report("refused").with("tag", tag)
            let status = problem.map { refused.with("status", UInt64($0.status)) } ?? refused.with("status", nil)
            self = status.with("problem", problem?.type)
        }
    }

    private static func name(of condition: Condition) -> String {
        switch condition {
        case .idle: "idle"
        case .connecting: "connecting"
        case .live: "live"
        case .reconnecting: "reconnecting"
        case .offline: "offline"
        case .paused: "paused"
        case .signedOut: "signedOut"
        case .ended: "ended"
        case .failed: "failed"
        case .closed: "closed"
        }
    }
}
