import TestSupport
import Testing

/// Whole runs of a session with all kinds of requests, reminders and work. `MVI_SIMULATION_SEED=<seed>` runs one seed
/// and prints its story, `MVI_SIMULATION_SEEDS=<count>` sets the number of seeds. A seed repeats exactly with
/// `SWIFT_DETERMINISTIC_HASHING=1`.
@Suite("Simulated sessions", .timeLimit(.minutes(600)))
struct SessionSimulationTests {
    @Test("a session keeps its guarantees with any requests and crashes")
    func oneProcess() async throws { try await run(SessionSimulation.Setting(), from: 1) }

    @Test("a session keeps its guarantees even if a newer build cannot read every reminder")
    func deploys() async throws { try await run(SessionSimulation.Setting(hasDeploys: true), from: 1_000_000) }

    @Test("a feature that is served no more keeps no session, and the others keep their guarantees")
    func retires() async throws {
        try await run(SessionSimulation.Setting(hasDeploys: true, retires: true), from: 2_000_000)
    }

    @Test("a store is disposed of after its lifetime without use, and not earlier")
    func lives() async throws { try await run(SessionSimulation.Setting(hasLives: true), from: 3_000_010) }

    @Test("streams owe nothing less if more stores are shown than stay in memory")
    func fewLoaded() async throws { try await run(SessionSimulation.Setting(hasFewLoaded: true), from: 4_000_000) }

    private func run(_ setting: SessionSimulation.Setting, from first: UInt64) async throws {
        let found = try await offThePool { () throws -> String? in
            let hooks = ChoreHooks()
            let builds = try ChoreBuild.all(hooks, setting)
            let seeds = Seeds.list(from: first, usual: 40)
            var faulty: [String] = []
            var known: [CoreFault: (count: Int, example: String)] = [:]
            for seed in seeds {
                let isAlone = seeds.count == 1
                let simulation = SessionSimulation(builds, hooks, seed: seed, setting, tellsStory: isAlone)
                let found = simulation.run()
                if isAlone { print(simulation.story.joined(separator: "\n")) }
                for finding in found.known {
                    guard let fault = finding.fault else { continue }
                    let old = known[fault] ?? (0, "the seed \(seed): \(finding.text)")
                    known[fault] = (old.count + 1, old.example)
                }
                if let finding = found.new { faulty.append("the seed \(seed): \(finding)") }
            }
            for (fault, found) in known.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                print("fault \(fault.rawValue): \(found.count) of \(seeds.count); \(found.example)")
            }
            guard !faulty.isEmpty else { return nil }
            return "\(faulty.count) of \(seeds.count) seeds with \(setting):\n"
                + faulty.prefix(8).joined(separator: "\n")
        }
        if let found { Issue.record("\(found)") }
    }
}
