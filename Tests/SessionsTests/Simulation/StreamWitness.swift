import MVI
import EventStream
import Sessions
import WireJSON

/// Holds what a client's streams show against the contract, beside what `SimulatedClient` checks: the order of labels,
/// that the state of a label's turn comes before it, and that one version never names two views.
struct StreamWitness {
    /// A view state as both builds of a ledger show it.
    private struct View: Decodable, Equatable {
        var entries: [Int]
        var worked: [Int]
        var bootstraps: Int
        /// Only the newer build shows it.
        var build: Int?
    }

    private struct State: Decodable {
        var feature: String
        var version: UInt64
        var state: View
    }

    private struct Label: Decodable {
        var feature: String
        var version: UInt64
        var id: String
    }

    /// The faults.
    private(set) var faults: [String] = []
    /// The view that each version of a feature named, over all streams and answers.
    private var views: [String: [UInt64: View]] = [:]
    /// The newest version of each feature that this stream showed.
    private var shown: [String: UInt64] = [:]
    /// The label that this stream showed last.
    private var lastLabel: (sequence: UInt64, index: UInt64)?

    /// A new stream begins.
    mutating func opened() {
        shown = [:]
        lastLabel = nil
    }

    /// Looks at an event of the present stream.
    mutating func see(_ event: ParsedEvent) throws {
        switch event.name {
        case "state":
            let state = try WireJSON.decode(State.self, from: event.data)
            see(state.state, of: state.feature, version: state.version)
            if state.version < shown[state.feature] ?? 0 {
                faults.append("\(state.feature) went back to version \(state.version) on one stream")
            }
            shown[state.feature] = state.version
        case "label": see(try WireJSON.decode(Label.self, from: event.data))
        default: break
        }
    }

    /// Looks at the view state of an answer.
    mutating func see(_ answer: IntentOutcome, of feature: FeatureID) throws {
        guard let state = answer.state else { return }
        see(try WireJSON.decode(View.self, from: state.view), of: feature.text, version: state.version)
    }

    private mutating func see(_ view: View, of feature: String, version: UInt64) {
        if let known = views[feature]?[version], known != view {
            faults.append("version \(version) of \(feature) was \(known) and is \(view)")
        }
        views[feature, default: [:]][version] = view
    }

    private mutating func see(_ label: Label) {
        let version = shown[label.feature]
        if version ?? 0 < label.version {
            faults.append(
                "the label \(label.id) of version \(label.version) came after version "
                    + "\(version.map { "\($0)" } ?? "none") of \(label.feature)")
        }
        // `<epoch>.<sequence>.<index>`
        let numbers = label.id.split(separator: ".").suffix(2).compactMap { UInt64($0) }
        guard numbers.count == 2 else { return faults.append("the label's id \(label.id) is none") }
        let place = (sequence: numbers[0], index: numbers[1])
        if let lastLabel, lastLabel >= place {
            faults.append("the label \(label.id) came after \(lastLabel.sequence).\(lastLabel.index)")
        }
        lastLabel = place
    }
}
