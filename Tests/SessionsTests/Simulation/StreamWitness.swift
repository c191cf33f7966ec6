import MVI
import EventStream
import Sessions
import WireJSON

/// Checks a client's streams against the contract, besides the checks of `SimulatedClient`: the order of labels, the
/// state of a label's turn before it, and one view per version.
struct StreamWitness {
    /// A view state of both builds of a ledger.
    private struct View: Decodable, Equatable {
        var entries: [Int]
        var worked: [Int]
        var bootstraps: Int
        /// Only the newer build sets it.
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

    /// The faults that were found.
    private(set) var faults: [String] = []
    /// The view of each version of a feature, in all streams and answers.
    private var views: [String: [UInt64: View]] = [:]
    /// The newest version of each feature on this stream.
    private var shown: [String: UInt64] = [:]
    /// The last label on this stream.
    private var lastLabel: (sequence: UInt64, index: UInt64)?

    /// Starts a new stream.
    mutating func opened() {
        shown = [:]
        lastLabel = nil
    }

    /// Checks an event of the present stream.
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

    /// Checks the view state of an answer.
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
