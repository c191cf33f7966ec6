import MVI
import SessionJournal
import TestSupport

@testable import Sessions

extension NodeSimulation {
    /// The kind of simulation.
    struct Setting: Sendable {
        /// True if nodes restart with a newer build, one after the other.
        var hasDeploys = false
        /// True if the journal sometimes loses its latest commits.
        var goesBack = false
        /// True if it does so often, while clients read states and every node forgets what it does not use.
        var goesBackOften = false
    }

    /// The result of a run.
    struct Findings {
        var faults: [String] = []
        var steps = 0
        var takeovers = 0
    }

    /// Returns the features of the nodes, the older build first.
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
