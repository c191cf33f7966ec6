import MVI
import SessionJournal
import TestSupport
import WireJSON

@testable import Sessions

/// The labels of intents, and to whom they are directed.
extension SpaceLog {
    /// The body of an intent, which may have a label, which may be directed.
    func body(of number: Int, to feature: FeatureID, _ random: inout SplitMix) -> String {
        let other = random.next() % 20
        var addressees = ["sender", "session session-\(other)", "subject user\(other)"]
        if feature.name == Parted.name { addressees += ["users", "guests"] }
        let kind = random.next() % 6
        if kind > 3 {
            let key = ["a", "b", "s1"][Int(random.next() % 3)]
            guard let from = SpaceName(feature.text), let to = SpaceName("board:\(key)") else { return "" }
            state.withLock { $0.passes[number] = Pass(from: from, to: to) }
            return #"{"type":"pass","value":\#(number),"to":"\#(key)"}"#
        }
        guard kind > 1 else { return #"{"type":"\#(kind == 0 ? "enter" : "both")","value":\#(number)}"# }
        let to = addressees[Int(random.next() % UInt64(addressees.count))]
        state.withLock { $0.addressees[number] = to }
        return #"{"type":"tell","value":\#(number),"to":"\#(to)"}"#
    }

    /// True if a caller is to get the label of an intent.
    func isMeant(_ caller: Int, isUser: Bool, by number: Int) -> Bool {
        switch state.withLock({ $0.addressees[number] }) {
        case nil: true
        case "sender"?: number / SpaceCaller.range == caller
        case "users"?: isUser
        case "guests"?: !isUser
        case "session session-\(caller)"?: true
        case "subject user\(caller)"?: isUser
        case _?: false
        }
    }
}

extension Board {
    /// The value of a label.
    static func value(of json: [UInt8]) -> Int {
        guard case .said(let value)? = try? WireJSON.decode(Label.self, from: json) else { return -1 }
        return value
    }
}

extension SpaceCaller {
    static func name(_ feature: FeatureID) -> SpaceName {
        guard let name = SpaceName(feature.text) else { preconditionFailure("an instance is a name") }
        return name
    }
    static func isGuarded(_ feature: FeatureID) -> Bool { feature.key?.hasPrefix("s") == true }
}
