import TestSupport
import Testing

/// Whole runs with conflicts, failures, delays and crashes at every step that can wait. A failure names the seed:
/// `MVI_SIMULATION_SEED=<seed>` runs it alone, `MVI_SIMULATION_SEEDS=<count>` sets the number of seeds.
@Suite("Simulated runs (rules 48 to 52)")
struct SimulationTests {
    @Test("48, 49: one process that crashes loses nothing, doubles nothing, and shows its streams every label in order")
    func oneProcess() async throws {
        let found = try await run(Simulation.Setting(), from: 1)
        if let fault = found.fault { Issue.record("\(fault)") }
        if let fault = found.orderFault { Issue.record("\(fault)") }
    }

    @Test("49: two processes that append to the same sessions lose nothing and double nothing")
    func twoProcesses() async throws {
        let found = try await run(Simulation.Setting(nodes: 2, hasStreams: false), from: 1_000_000)
        if let fault = found.fault { Issue.record("\(fault)") }
    }

    @Test("28, 49: streams of two processes show labels in order, once, and after their states; versions never go back")
    func twoProcessesWithStreams() async throws {
        let found = try await run(Simulation.Setting(nodes: 2), from: 2_000_000)
        if let fault = found.fault { Issue.record("\(fault)") }
        if let fault = found.orderFault { Issue.record("\(fault)") }
    }

    @Test("51: a process that restarts with a newer schema loses nothing and doubles nothing")
    func restartedDeploy() async throws {
        let found = try await run(Simulation.Setting(hasDeploys: true), from: 4_000_000)
        if let fault = found.fault { Issue.record("\(fault)") }
        if let fault = found.orderFault { Issue.record("\(fault)") }
    }

    @Test("51: a deploy of a newer schema, one process after the other, loses nothing and keeps streams in order")
    func deploys() async throws {
        let found = try await run(Simulation.Setting(nodes: 2, hasDeploys: true), from: 3_000_000)
        if let fault = found.fault { Issue.record("\(fault)") }
        if let fault = found.orderFault { Issue.record("\(fault)") }
    }

    /// The findings of all seeds as text; nil without findings.
    private struct Found {
        var fault: String?
        var orderFault: String?
    }

    private func run(_ setting: Simulation.Setting, from first: UInt64) async throws -> Found {
        try await offThePool { () throws -> Found in
            let builds = try Simulation.builds()
            var faulty: [(seed: UInt64, faults: [String])] = []
            var disordered: [(seed: UInt64, faults: [String])] = []
            let seeds = Seeds.list(from: first)
            for seed in seeds {
                let findings = try Simulation(builds, seed: seed, setting, clients: 3, intents: 12).run()
                if !findings.faults.isEmpty { faulty.append((seed, findings.faults)) }
                if !findings.orderFaults.isEmpty { disordered.append((seed, findings.orderFaults)) }
            }
            func text(_ found: [(seed: UInt64, faults: [String])]) -> String? {
                guard let example = found.first else { return nil }
                return "\(found.count) of \(seeds.count) seeds with \(setting); the seed \(example.seed): "
                    + example.faults.prefix(5).joined(separator: "; ")
            }
            return Found(fault: text(faulty), orderFault: text(disordered))
        }
    }
}
