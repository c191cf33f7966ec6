import MVI

/// A kind of step of the simulation.
enum ChoreStep: CaseIterable {
    case intend, send, burst, work, tell, task, wait, waitLong, sweep, read, open, close, rotate, view, dispose, renew
    case signOut, end, deliver, crash, hold, rest, outage, damage

    /// The frequency among about 1,000 steps.
    fileprivate var weight: Int {
        switch self {
        case .intend: 180
        case .send: 100
        case .work, .tell, .task: 110
        case .wait: 60
        case .read: 70
        case .open, .dispose, .deliver: 25
        case .view, .renew, .rotate: 18
        case .waitLong, .hold, .rest: 12
        case .close, .sweep: 8
        case .burst: 6
        case .crash: 8
        case .signOut, .outage, .damage: 3
        case .end: 2
        }
    }
}

/// The frequencies of a run's steps: each seed prefers some steps and omits others.
struct StepProfile {
    private let steps: [(step: ChoreStep, until: Int)]

    init(_ random: inout SplitMix) {
        var (all, steps) = (0, [(step: ChoreStep, until: Int)]())
        for step in ChoreStep.allCases {
            let factor =
                switch random.next() % 8 {
                case 0: 4
                case 1: 0
                default: 2
                }
            // Without these nothing would happen.
            let isNeeded = [.intend, .send, .work, .tell, .task].contains(step)
            all += step.weight * (isNeeded ? max(1, factor) : factor)
            steps.append((step, all))
        }
        self.steps = steps
    }

    func next(_ random: inout SplitMix) -> ChoreStep {
        let number = Int(random.next() % UInt64(steps.last?.until ?? 1))
        return steps.first { number < $0.until }?.step ?? .work
    }
}
