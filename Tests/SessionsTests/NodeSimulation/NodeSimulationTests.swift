import TestSupport
import Testing

/// Whole runs of three nodes with one journal: disconnected, stopped, killed, with clocks of their own. A failure names
/// the seed: `MVI_SIMULATION_SEED=<seed>` runs it alone and prints its story, `MVI_SIMULATION_SEEDS=<count>` sets the
/// number of seeds, `MVI_SIMULATION_STORIES=<folder>` writes the story of each failure into a folder. The order of sets
/// and the ids of nodes differ between processes: if a seed alone succeeds, repeat it with
/// `SWIFT_DETERMINISTIC_HASHING=1`.
@Suite("Simulated nodes", .timeLimit(.minutes(600)))
struct NodeSimulationTests {
    @Test("three nodes lose nothing, double nothing and contradict nobody, whatever becomes of one of them")
    func threeNodes() async throws { try await run(NodeSimulation.Setting(), from: 1) }

    @Test("a deploy of a newer schema, one of three nodes after the other, loses nothing")
    func deploys() async throws { try await run(NodeSimulation.Setting(hasDeploys: true), from: 1_000_000) }

    @Test("after a journal loses its latest commits no version is reused for another state")
    func backwards() async throws { try await run(NodeSimulation.Setting(goesBack: true), from: 2_000_000) }

    @Test("after a journal loses commits often no read is taken for one of another log")
    func oftenBackwards() async throws {
        try await run(NodeSimulation.Setting(goesBack: true, goesBackOften: true), from: 3_000_000)
    }

    private func run(_ setting: NodeSimulation.Setting, from first: UInt64) async throws {
        let found = try await offThePool { () throws -> String? in
            let builds = try NodeSimulation.builds()
            var faulty: [String] = []
            let seeds = Seeds.list(from: first, usual: 24)
            var (steps, takeovers) = (0, 0)
            for seed in seeds {
                let simulation = try NodeSimulation(builds, seed: seed, setting)
                let findings = simulation.run()
                steps += findings.steps
                takeovers += findings.takeovers
                if !findings.faults.isEmpty {
                    if let folder = Seeds.stories { Seeds.write(simulation.story, to: "\(folder)/\(seed).txt") }
                    let story = seeds.count == 1 ? simulation.story.joined(separator: "\n") + "\n" : ""
                    faulty.append("\(story)the seed \(seed): " + findings.faults.prefix(3).joined(separator: "; "))
                }
            }
            if seeds.count > 20, steps < seeds.count || takeovers == 0 { faulty.append("hardly any work ran") }
            guard !faulty.isEmpty else { return nil }
            return "\(faulty.count) of \(seeds.count) seeds with \(setting):\n"
                + faulty.prefix(12).joined(separator: "\n")
        }
        if let found { Issue.record("\(found)") }
    }
}
