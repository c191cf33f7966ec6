import EventStream
import MVI
import SessionJournal

@testable import Sessions

/// Who looks at a list.
struct SpaceViewers: Equatable {
    var count = 0
    var users: [String] = []
}

extension SpaceCaller {
    /// What the caller's stream has shown of a space.
    struct Shown {
        /// Names the log.
        var check: String?
        /// The position from which labels are promised; nil between a reset and the next id.
        var start: UInt64?
        var covered: UInt64 = 0
        var labels: Set<LabelID> = []
        // On this stream.
        var isNew = false
        var version: UInt64 = 0
        var entries: [Int]?
        var lastLabel: LabelID?
    }

    /// True if others are to see that it looks at a list.
    func looks(at feature: FeatureID) -> Bool {
        reader != nil && features.contains(feature) && (isUser || !Self.isGuarded(feature))
    }

    func check(_ viewers: SpaceViewers, of feature: FeatureID) {
        let told = self.viewers[feature]
        // Before its first turn a list is not there.
        if shown[Self.name(feature)]?.entries != nil, told != viewers {
            fault("86: \(feature) has the viewers \(viewers), and it was told \(told.map { "\($0)" } ?? "nothing")")
        }
    }
}
