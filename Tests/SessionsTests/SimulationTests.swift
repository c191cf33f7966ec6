import TestSupport
import Testing

/// Whole runs with conflicts, failures, delays and crashes at every step that can wait. A failure names the seed:
/// `MVI_SIMULATION_SEED=<seed>` runs that one alone, `MVI_SIMULATION_SEEDS=<count>` more of them than usual.
@Suite("Simulated runs (SEMANTICS 48 to 52)")
struct SimulationTests {
    @Test("48, 49: one process that crashes loses nothing, doubles nothing, and shows its streams every label in order")
    func oneProcess() async throws {
        try await run(nodes: 1, from: 1)
    }

    @Test("49: two processes that append to the same sessions lose nothing and double nothing")
    func twoProcesses() async throws {
        try await run(nodes: 2, from: 1_000_000)
    }

    private func run(nodes: Int, from first: UInt64) async throws {
        let fault = try await offThePool { () throws -> String? in
            let features = try Simulation.features()
            for seed in Seeds.list(from: first) {
                let simulation = try Simulation(features, seed: seed, nodes: nodes, clients: 3, intents: 12)
                let faults = try simulation.run()
                if !faults.isEmpty {
                    return "the seed \(seed) with \(nodes) processes: \(faults.prefix(5).joined(separator: "; "))"
                }
            }
            return nil
        }
        if let fault { Issue.record("\(fault)") }
    }
}
