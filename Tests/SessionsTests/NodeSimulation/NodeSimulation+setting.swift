import MVI
import SessionJournal
import TestSupport

@testable import Sessions

extension NodeSimulation {
    /// The setting of a simulation.
    struct Setting: Sendable {
        /// True if nodes come with a newer build, one after the other.
        var hasDeploys = false
        /// True if the journal loses what was committed last, now and then.
        var goesBack = false
    }

    /// The findings of a run.
    struct Findings {
        var faults: [String] = []
        var steps = 0
        var takeovers = 0
    }

    /// Returns the features of both builds, the older one first.
    static func builds() throws -> [FeatureRegistry] {
        let runs = WorkRuns()
        let gauge = try FeatureDefinition(Gauge(runs: runs))
        return [
            try FeatureRegistry([
                FeatureDefinition(keyed: { _, _ in Errand(runs: runs) }), gauge, FeatureDefinition(Crate(content: 1)),
            ]),
            try FeatureRegistry([
                FeatureDefinition(keyed: { _, _ in NewerErrand(runs: runs) }), gauge,
                FeatureDefinition(Crate(content: "a")),
            ]),
        ]
    }
}

extension Array where Element: Hashable {
    var asSet: Set<Element> { Set(self) }
}
