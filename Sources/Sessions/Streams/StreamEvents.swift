import EventStream
import MVI
import SessionJournal
import WireJSON

/// The stores that a stream shows.
package enum StreamFilter: Sendable, Equatable {
    /// Every store that the session has or creates later.
    case all
    /// These, each once.
    case features([FeatureID])

    /// Returns the filter without some features.
    func without(_ excluded: [FeatureID]) -> StreamFilter {
        guard !excluded.isEmpty, case .features(let features) = self else { return self }
        return .features(features.filter { !excluded.contains($0) })
    }

    /// True unless it shows all.
    var isNamed: Bool { if case .features = self { true } else { false } }

    func shows(_ feature: FeatureID) -> Bool {
        switch self {
        case .all: true
        case .features(let features): features.contains(feature)
        }
    }
}

/// The events of a stream as bytes. `docs/http.md`, Streams, documents their names and members.
package enum StreamEvents {
    /// All event names of a stream.
    package static let names = [
        "hello", "state", "patch", "label", "ping", "reset", "goaway", "end", "identity", "denied", "presence",
    ]

    static func opening(into bytes: inout [UInt8]) {
        bytes.append(literal: ": ok\nretry: ")
        WireJSON.appendInteger(UInt64.random(in: 2_000...4_000), to: &bytes)
        bytes.append(literal: "\n\n")
    }

    static func hello(
        session: String, epoch: String, resumed: Bool, cursor: String, heartbeat: Int, features: [FeatureID],
        shared: [FeatureID]? = nil, into bytes: inout [UInt8]
    ) {
        var data: [UInt8] = []
        data.append(literal: "{\"session\":")
        WireJSON.appendString(session, to: &data)
        data.append(literal: ",\"epoch\":")
        WireJSON.appendString(epoch, to: &data)
        data.append(literal: resumed ? ",\"resumed\":true,\"cursor\":" : ",\"resumed\":false,\"cursor\":")
        WireJSON.appendString(cursor, to: &data)
        data.append(literal: ",\"heartbeat\":")
        WireJSON.appendInteger(UInt64(heartbeat), to: &data)
        append(",\"features\":", features, to: &data)
        if let shared { append(",\"shared\":", shared, to: &data) }
        data.append(literal: "}")
        append("hello", id: cursor, data, to: &bytes)
    }

    private static func append(_ name: StaticString, _ features: [FeatureID], to data: inout [UInt8]) {
        data.append(literal: name)
        data.append(UInt8(ascii: "["))
        for (index, feature) in features.enumerated() {
            if index > 0 { data.append(UInt8(ascii: ",")) }
            WireJSON.appendString(feature.text, to: &data)
        }
        data.append(UInt8(ascii: "]"))
    }

    /// - Parameter features: the features of the log that it concerns; nil for all that the stream shows.
    static func reset(
        _ reason: ResetReason, labelsLost: Bool, of features: [FeatureID]? = nil, into bytes: inout [UInt8]
    ) {
        var data: [UInt8] = []
        data.append(text: "{\"reason\":\"\(reason.rawValue)\",\"labelsLost\":\(labelsLost)")
        if let features { append(",\"features\":", features, to: &data) }
        data.append(literal: "}")
        append("reset", id: nil, data, to: &bytes)
    }

    static func end(_ feature: FeatureID, into bytes: inout [UInt8]) { append("end", about: feature, to: &bytes) }

    /// - Parameter reason: the name of a problem; nil if an access rule excludes the client.
    static func denied(_ feature: FeatureID, for reason: StaticString? = nil, into bytes: inout [UInt8]) {
        append("denied", about: feature, for: reason, to: &bytes)
    }

    private static func append(
        _ name: String, about feature: FeatureID, for reason: StaticString? = nil, to bytes: inout [UInt8]
    ) {
        var data: [UInt8] = []
        data.append(literal: "{\"feature\":")
        WireJSON.appendString(feature.text, to: &data)
        if let reason { data.append(text: ",\"reason\":\"\(reason)\"") }
        data.append(literal: "}")
        append(name, id: nil, data, to: &bytes)
    }

    /// - Parameter viewers: an object with the members `count` and `viewers`.
    static func presence(_ feature: FeatureID, _ viewers: [UInt8], into bytes: inout [UInt8]) {
        var data: [UInt8] = []
        data.append(literal: "{\"feature\":")
        WireJSON.appendString(feature.text, to: &data)
        data.append(UInt8(ascii: ","))
        data += viewers.dropFirst()
        append("presence", id: nil, data, to: &bytes)
    }

    static func identity(expiresIn seconds: Int, into bytes: inout [UInt8]) {
        append("identity", id: nil, Array("{\"expiresIn\":\(seconds)}".utf8), to: &bytes)
    }

    static func ping(milliseconds: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        append("ping", id: nil, Array("{\"t\":\(milliseconds)}".utf8), to: &bytes)
        return bytes
    }

    /// The farewell, with a `retry:` of its own. Also the whole of a stream that is refused for now.
    ///
    /// - Parameter retry: the time until the client should reconnect, in milliseconds.
    package static func goAway(_ reason: GoAwayReason, retry: Int? = nil) -> [UInt8] {
        let retry = retry ?? reason.retry()
        var bytes: [UInt8] = []
        bytes.append(text: "retry: \(retry)\n")
        append(
            "goaway", id: nil, Array("{\"reason\":\"\(reason.rawValue)\",\"retry\":\(retry)}".utf8), to: &bytes)
        return bytes
    }

    /// The `state` event of a store; an `id` line may precede it.
    static func state(
        _ feature: FeatureID, version: UInt64, intent: String?, isStale: Bool = false, _ view: [UInt8],
        into bytes: inout [UInt8]
    ) {
        bytes.append(literal: "event: state\ndata: {\"feature\":\"")
        head(feature, version: version, intent: intent, into: &bytes)
        if isStale { bytes.append(literal: ",\"stale\":true") }
        bytes.append(literal: ",\"state\":")
        bytes.append(contentsOf: view)
        bytes.append(literal: "}\n\n")
    }

    /// The `patch` event of a store: the change between two versions of its view state.
    static func patch(
        _ feature: FeatureID, from: UInt64, to: UInt64, intent: String?, isStale: Bool, _ patch: [UInt8],
        into bytes: inout [UInt8]
    ) {
        bytes.append(literal: "event: patch\ndata: {\"feature\":\"")
        bytes.append(text: feature.text)
        bytes.append(literal: "\",\"from\":")
        WireJSON.appendInteger(from, to: &bytes)
        bytes.append(literal: ",\"to\":")
        WireJSON.appendInteger(to, to: &bytes)
        append(intent: intent, to: &bytes)
        if isStale { bytes.append(literal: ",\"stale\":true") }
        bytes.append(literal: ",\"patch\":")
        bytes.append(contentsOf: patch)
        bytes.append(literal: "}\n\n")
    }

    /// - Parameters:
    ///   - version: that of the view which the stream has shown, if it is an audience's.
    ///   - life: the rest of the label's life, of which whole seconds are written.
    static func label(
        _ label: StoredLabel, version: UInt64? = nil, epoch: String, isReplay: Bool, life: Duration,
        into bytes: inout [UInt8]
    ) {
        bytes.append(literal: "event: label\ndata: {\"feature\":\"")
        head(
            label.feature, version: min(label.version, version ?? .max), intent: label.intent, into: &bytes)
        bytes.append(literal: ",\"id\":\"")
        bytes.append(text: epoch)
        bytes.append(UInt8(ascii: "."))
        WireJSON.appendInteger(label.id.number, to: &bytes)
        bytes.append(UInt8(ascii: "."))
        WireJSON.appendInteger(UInt64(label.id.index), to: &bytes)
        bytes.append(literal: isReplay ? "\",\"replay\":true,\"expiresIn\":" : "\",\"replay\":false,\"expiresIn\":")
        let (seconds, attoseconds) = max(life, .zero).components
        WireJSON.appendInteger(UInt64(attoseconds > 0 ? seconds + 1 : seconds), to: &bytes)
        bytes.append(literal: ",\"label\":")
        bytes.append(contentsOf: label.json)
        bytes.append(literal: "}\n\n")
    }

    /// An event's `id` line. Session epochs contain no line end.
    static func id(epoch: String, sequence: UInt64, into bytes: inout [UInt8]) {
        bytes.append(literal: "id: ")
        bytes.append(text: epoch)
        bytes.append(UInt8(ascii: "."))
        WireJSON.appendInteger(sequence, to: &bytes)
        bytes.append(UInt8(ascii: "\n"))
    }

    /// The start of the data of states and labels, after the opening of the first member's value.
    private static func head(
        _ feature: FeatureID, version: UInt64, intent: String?, into bytes: inout [UInt8]
    ) {
        bytes.append(text: feature.text)
        bytes.append(literal: "\",\"version\":")
        WireJSON.appendInteger(version, to: &bytes)
        append(intent: intent, to: &bytes)
    }

    @inline(__always)
    private static func append(intent: String?, to bytes: inout [UInt8]) {
        guard let intent else { return }
        bytes.append(literal: ",\"intent\":")
        WireJSON.appendString(intent, to: &bytes)
    }

    private static func append(_ name: String, id: String?, _ data: [UInt8], to bytes: inout [UInt8]) {
        do throws(EventEncodingError) {
            try EventEncoder.append(event: name, id: id, data: data, to: &bytes)
        } catch {
            // Names are constants, ids are cursors, data is the server's JSON, in which control characters are escaped.
            preconditionFailure("a control event could not be encoded: \(error)")
        }
    }
}

/// The problem with a stream's position in the log.
package enum ResetReason: String, Sendable, CaseIterable {
    /// The cursor is not one of this session's.
    case unknownCursor = "unknown-cursor"
    /// The cursor is older than labels that are gone.
    case expired
    /// The stream was slow, or away, for so long that labels it was owed were dropped.
    case overflow
    /// A store could not be read and began anew.
    case storeReplaced = "store-replaced"
}

extension [UInt8] {
    @inline(__always)
    mutating func append(literal text: StaticString) { text.withUTF8Buffer { append(contentsOf: $0) } }

    @inline(__always)
    mutating func append(text: String) {
        // A view of its storage: as a sequence a string is copied in several steps.
        var text = text
        text.withUTF8 { append(contentsOf: $0) }
    }
}
