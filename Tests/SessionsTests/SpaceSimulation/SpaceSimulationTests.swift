import TestSupport
import Testing

/// Whole runs of spaces on three nodes, as those of `NodeSimulationTests`, with the same variables.
@Suite("Simulated spaces", .timeLimit(.minutes(600)))
struct SpaceSimulationTests {
    @Test("spaces on three nodes lose nothing, double nothing, and let nobody act who may not")
    func spaces() async throws { try await run(losesCommits: false, from: 5_000_000) }

    @Test("a space that loses commits resets its own stores only")
    func losses() async throws { try await run(losesCommits: true, from: 6_000_000) }

    private func run(losesCommits: Bool, from first: UInt64) async throws {
        let found = try await offThePool { () throws -> String? in
            let features = try SpaceSimulation.features()
            var faulty: [String] = []
            let seeds = Seeds.list(from: first, usual: 30)
            var (ran, takeovers) = (0, 0)
            for seed in seeds {
                let simulation = SpaceSimulation(features, seed: seed, losesCommits: losesCommits)
                let result = simulation.run()
                ran += result.ran
                takeovers += result.takeovers
                guard !result.faults.isEmpty else { continue }
                if let folder = Seeds.stories { Seeds.write(simulation.story, to: "\(folder)/\(seed).txt") }
                let story = seeds.count == 1 ? simulation.story.joined(separator: "\n") + "\n" : ""
                faulty.append("\(story)the seed \(seed): " + result.faults.prefix(3).joined(separator: "; "))
            }
            if seeds.count > 20, ran < 20 * seeds.count || takeovers == 0 {
                faulty.append("hardly anything ran: \(ran) intents, \(takeovers) takeovers")
            }
            guard !faulty.isEmpty else { return nil }
            return "\(faulty.count) of \(seeds.count) seeds:\n" + faulty.prefix(12).joined(separator: "\n")
        }
        if let found { Issue.record("\(found)") }
    }
}
