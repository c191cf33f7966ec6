import EventStream
import JSONDelta
import Locking
import MVI
import SessionJournal
import Sessions
import WireJSON

/// A device's stream and its events.
final class DeviceStream {
    private final class Waker: StreamWaker { func wake() {} }

    let stream: SessionStream
    /// The key of its cursor among the device's cursors.
    let filter: String
    private let delta: DeltaForm?
    private let log: SessionLog
    private let device: Device
    private var parser = EventParser()
    private var views: [String: (version: UInt64, view: [UInt8])] = [:]
    private var lastID: UInt64 = 0
    private var lastLabel: LabelID?
    private(set) var isOver = false
    /// The session's head when the stream was told to close, and the number of reads since.
    private var told: (head: UInt64, reads: Int)?

    /// The session's head when it opened.
    private let openedAt: UInt64

    init(_ stream: SessionStream, _ filter: String, _ delta: DeltaForm?, _ log: SessionLog, _ device: Device) {
        (self.stream, self.filter, self.delta, self.log, self.device) = (stream, filter, delta, log, device)
        openedAt = log.head
        stream.opened(Waker())
    }

    var isTold: Bool { told != nil }

    /// True if the state that it showed last is the present one. A stream of all stores shows those that were used last, and
    /// each that is used later.
    func isUpToDate(_ feature: FeatureID, _ store: SessionLog.Store) -> Bool {
        guard let shown = views[feature.text] else { return store.number <= openedAt }
        return (try? WireJSON.decode(ChoreState.self, from: shown.view)) == store.state
    }

    /// Tells the stream to close.
    func rotate() {
        if told == nil { told = (log.head, 0) }
        stream.goAway(.rotate)
    }

    func close() {
        isOver = true
        stream.closed()
    }

    /// Reads all events that are ready; returns false if there are none.
    @discardableResult
    func read() -> Bool {
        guard !isOver else { return false }
        if var told {
            told.reads += 1
            self.told = told
            if told.reads > 60 { log.note("a stream that was told to go is still there after 60 steps", .streamStays) }
        }
        switch stream.nextStep() {
        case .write(let bytes), .writeAll(let bytes):
            see(bytes)
            return true
        case .finish(let bytes):
            see(bytes)
            close()
            return true
        case .wait: return false
        }
    }

    private func see(_ bytes: [UInt8]) {
        do {
            for event in try parser.feed(bytes) { try see(event) }
        } catch {
            log.note("a stream cannot be read: \(error)")
        }
    }

    private struct Shown: Decodable {
        var feature: String
        var version: UInt64?
        var state: JSONText?
        var from: UInt64?
        var to: UInt64?
        var patch: JSONText?
        var id: String?
        var label: ChoreLabel?
    }

    private struct Reset: Decodable {
        var reason: String
        var labelsLost: Bool
    }

    private func see(_ event: ParsedEvent) throws {
        log.tell(
            "a stream of \(filter) shows \(event.name) \(event.id ?? "") "
                + String(decoding: event.data, as: UTF8.self))
        // A stream that opened just before the session ended says both at once.
        if event.name != "goaway", event.name != "hello", device.isGone {
            log.note("a stream of a client without access shows \(event.name)")
        }
        if let id = event.id, let cursor = Cursor(id) {
            if lastID > cursor.sequence { log.note("a stream's ids go back from \(lastID) to \(cursor.sequence)") }
            lastID = cursor.sequence
            if let told, event.name != "hello", cursor.sequence > told.head {
                log.note("a stream told to go at \(told.head) has the id \(cursor.sequence)", .streamStays)
            }
            // Another stream of the device may have shown more.
            let shown = device.cursors[filter].flatMap { Cursor($0) }?.sequence ?? 0
            if shown <= cursor.sequence { device.cursors[filter] = id }
        }
        switch event.name {
        case "state", "patch", "label":
            let shown = try WireJSON.decode(Shown.self, from: event.data)
            guard let feature = FeatureID(shown.feature) else { return log.note("the feature \(shown.feature)") }
            if feature == ChoreBuild.vault, device.isExcluded {
                log.note(
                    "a client without access is shown a \(event.name) of \(feature) by a stream of \(filter)",
                    .staleRenewal)
            }
            if event.name == "label" { return see(shown, feature) }
            try seeView(shown, feature, event.data)
        case "reset":
            let reset = try WireJSON.decode(Reset.self, from: event.data)
            device.reset(reset.reason, labelsLost: reset.labelsLost, isOfAll: filter == "all")
        case "end":
            views[try WireJSON.decode(Shown.self, from: event.data).feature] = nil
        default: break
        }
    }

    private func seeView(_ shown: Shown, _ feature: FeatureID, _ data: [UInt8]) throws {
        guard let version = shown.version ?? shown.to else { return log.note("a view without a version") }
        if let before = views[shown.feature], before.version > version {
            log.note("\(feature) goes back from version \(before.version) to \(version)")
        }
        var view: [UInt8]
        if let state = shown.state {
            view = state.bytes
        } else {
            guard let delta, let before = views[shown.feature], before.version == shown.from,
                let patch = shown.patch
            else { return log.note("a patch of \(feature) from version \(shown.from ?? 0), which was not shown") }
            view =
                switch delta {
                case .jsonPatch: try JSONPatch.apply(patch.bytes, to: before.view)
                case .mergePatch: try MergePatch.apply(patch.bytes, to: before.view)
                }
        }
        views[shown.feature] = (version, view)
        log.shown(try WireJSON.decode(ChoreState.self, from: view), of: feature, version: version)
    }

    private func see(_ shown: Shown, _ feature: FeatureID) {
        let numbers = (shown.id ?? "").split(separator: ".").suffix(2).compactMap { UInt64($0) }
        guard numbers.count == 2, let version = shown.version else { return log.note("a label without an id") }
        let id = LabelID(number: numbers[0], index: Int(numbers[1]))
        let known = log.state.withLock { state in state.labels.first { $0.id == id } }
        guard let known, known.content == shown.label, known.feature == feature else {
            return log.note("the label \(id) is not kept so")
        }
        if let lastLabel, lastLabel >= id { log.note("the label \(id) came after \(lastLabel)") }
        lastLabel = id
        if let told, id.number > told.head {
            log.note("a stream told to go at \(told.head) shows the label \(id)", .streamStays)
        }
        if let shown = views[shown.feature], shown.version < version {
            log.note(
                "the label \(id) of version \(version) came after version \(shown.version) of \(feature) on a stream of "
                    + "\(filter), told to go at \(told?.head ?? 0)", .labelBeforeState)
        }
        device.show(id, of: feature)
    }
}
