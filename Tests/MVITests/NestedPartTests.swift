import MVI
import MVITesting
import Testing

/// A task that counts the seconds for which it runs, and may have tasks under it.
private struct Job: Part, Identifiable {
    indirect enum Message: Equatable, Sendable {
        case ticked, closed
        case added(Int), removed(Int)
        case job(Int, Message)
    }

    let id: Int
    var ticks = 0
    var jobs = Job.List()

    mutating func reduce(_ message: Message) {
        switch message {
        case .ticked: ticks += 1
        case .closed: break
        case .added(let id): jobs.append(Job(id: id))
        case .removed(let id): jobs.remove(id: id)
        case .job(let id, .closed): jobs.remove(id: id)
        case .job(let id, let message): jobs.reduce(id, message)
        }
    }
}

/// A part that is always there, without an id.
private struct Plan: Part {
    var ticks = 0

    mutating func reduce(_ message: Job.Message) { if message == .ticked { ticks += 1 } }
}

/// A section with a list, a part that it may be without and one that it always has. The feature may be without it.
private struct Project: Part {
    enum Message: Equatable, Sendable {
        case job(Int, Job.Message), review(Job.Message), reviewed(Job?), plan(Job.Message)
    }

    var jobs = Job.List()
    var review: Job?
    var plan = Plan()

    mutating func reduce(_ message: Message) {
        switch message {
        case .job(let id, let message): jobs.reduce(id, message)
        case .review(let message): review?.reduce(message)
        case .reviewed(let job): review = job
        case .plan(let message): plan.reduce(message)
        }
    }
}

extension PartTurn where P.Message == Job.Message {
    fileprivate mutating func start() {
        launch(id: "tick") { work in
            while true {
                try await work.sleep(for: .seconds(1))
                await work.dispatch(.ticked)
            }
        }
    }
}

extension PartTurn where P == Job {
    /// Runs code of the task that is found by going down along the ids.
    fileprivate mutating func descend(_ path: ArraySlice<Int>, _ body: (inout PartTurn<Job>) -> Void) -> Bool {
        guard let id = path.first else {
            body(&self)
            return true
        }
        var isThere = false
        part(id, in: \.jobs, P.Message.job) { isThere = $0.descend(path.dropFirst(), body) }
        return isThere
    }
}

private struct Office: Feature {
    struct State: Codable, Equatable, Sendable {
        var jobs: Job.List = [Job(id: 1), Job(id: 2)]
        var project: Project?
    }
    enum Intent: Codable, Sendable {
        case add(Int, under: [Int]), remove(Int, under: [Int]), start([Int]), stop([Int]), close([Int]), throwIn([Int])
        case open(Project), shut, startProject, cancelProject, review(Int?)
    }
    enum Message: Equatable, Sendable {
        case job(Int, Job.Message), removed(Int), opened(Project?), project(Project.Message)
    }
    static let examples: [Intent] = [
        .add(1, under: [1]), .remove(1, under: [1]), .start([1]), .stop([1]), .close([1]), .throwIn([1]),
        .open(Project()), .shut, .startProject, .cancelProject, .review(1),
    ]
    let initialState = State()
    let seen = Collected<String>()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .add(let id, let path): note(at(path, &turn) { $0.dispatch(.added(id)) })
        case .remove(let id, under: []): turn.dispatch(.removed(id))
        case .remove(let id, let path): note(at(path, &turn) { $0.dispatch(.removed(id)) })
        case .start(let path):
            note(at(path, &turn) { $0.start() })
        case .stop(let path): note(at(path, &turn) { $0.cancel("tick") })
        case .close(let path):
            note(
                at(path, &turn) { job in
                    job.dispatch(.closed)
                    job.dispatch(.ticked)
                    job.start()
                    seen.append("\(job.state.ticks) \(job.isRunning("tick"))")
                })
        case .throwIn(let path):
            try turn.part(path[0], in: \.jobs, Message.job) { (job) throws in
                do {
                    try job.part(path[1], in: \.jobs, Job.Message.job) { (job) throws in
                        job.dispatch(.ticked)
                        throw Broken()
                    }
                } catch {
                    // The outer part goes on where the inner one stopped.
                    seen.append("\(job.state.jobs[id: path[1]]?.ticks ?? -1)")
                    job.dispatch(.ticked)
                }
            }
        case .open(let project): turn.dispatch(.opened(project))
        case .shut: turn.dispatch(.opened(nil))
        case .startProject:
            turn.part(\.project, Message.project) { project in
                for id in project.state.jobs.ids {
                    project.part(id, in: \.jobs, Project.Message.job) { $0.start() }
                }
                let isReviewed = project.part(\.review, Project.Message.review) { $0.start() }
                project.part(\.plan, Project.Message.plan) { $0.start() }
                project.launch(id: "tick") { work in try await work.sleep(for: .seconds(60)) }
                seen.append("\(isReviewed)")
            }
        case .cancelProject: turn.part(\.project, Message.project) { $0.cancel("tick") }
        case .review(let id):
            turn.part(\.project, Message.project) { $0.dispatch(.reviewed(id.map { Job(id: $0) })) }
        }
    }

    private func note(_ isThere: Bool) { seen.append("\(isThere)") }

    private func at(_ path: [Int], _ turn: inout Turn<Self>, _ body: (inout PartTurn<Job>) -> Void) -> Bool {
        var isThere = false
        turn.part(path[0], in: \.jobs, Message.job) { isThere = $0.descend(path.dropFirst(), body) }
        return isThere
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .job(let id, let message): state.jobs.reduce(id, message)
        case .removed(let id): state.jobs.remove(id: id)
        case .opened(let project): state.project = project
        case .project(let message): state.project?.reduce(message)
        }
    }
}

@Suite("34, 76: parts in parts", .timeLimit(.minutes(10)))
struct NestedPartTests {
    @Test func `a part in a part dispatches messages of the feature, and its work has steps of its own`() async {
        let office = Office()
        let store = TestStore(office)
        await store.send(.add(7, under: [1]))
        await store.receive(.job(1, .added(7))) { $0.jobs[id: 1]?.jobs = [Job(id: 7)] }
        await store.send(.start([1, 7]))
        await store.advance(by: .seconds(1))
        await store.receive(.job(1, .job(7, .ticked))) { $0.jobs[id: 1]?.jobs = [Job(id: 7, ticks: 1)] }
        await store.send(.stop([1, 7]))
        #expect(office.seen.all == ["true", "true", "true"])
        await store.finish()
    }

    @Test func `what is meant for a part of a part that is gone is counted, and so is that for a part that is gone`()
        async
    {
        let office = Office()
        let store = TestStore(office)
        for path in [[1, 7], [9, 7], [9]] { await store.send(.start(path)) }
        #expect(office.seen.all == ["false", "false", "false"])
        #expect(store.diagnostics.droppedForGoneParts == 3)
        #expect(store.workInProgress.isEmpty)
        await store.finish()
    }

    @Test func `work of the same id in an outer part, its parts and parts of the same id elsewhere does not meet`()
        async
    {
        let store = TestStore(Office(), exhaustive: false)
        let paths = [[1], [2], [1, 1], [2, 1], [1, 1, 1]]
        for path in paths where path.count > 1 { await store.send(.add(1, under: path.dropLast())) }
        for path in paths { await store.send(.start(path)) }
        #expect(
            store.workInProgress.map { "\($0)" } == [
                "tick of 1", "tick of 2", "tick of 1 in 1", "tick of 1 in 2", "tick of 1 in 1 in 1",
            ])
        // Neither an outer part nor an inner one cancels the work of the other.
        await store.send(.stop([1]))
        await store.send(.stop([1, 1, 1]))
        await store.advance(by: .seconds(1))
        #expect(store.state.jobs[id: 1]?.ticks == 0)
        #expect(store.state.jobs[id: 1]?.jobs[id: 1]?.ticks == 1)
        #expect(store.state.jobs[id: 1]?.jobs[id: 1]?.jobs[id: 1]?.ticks == 0)
        #expect(store.state.jobs[id: 2]?.jobs[id: 1]?.ticks == 1)
        for id in 1...2 { await store.send(.remove(id, under: [])) }
        await store.finish()
    }

    @Test func `work of parts in a row ends with the row, and a row that comes back has none of it`() async {
        let store = TestStore(Office(), exhaustive: false)
        for id in 1...2 {
            await store.send(.add(7, under: [id]))
            await store.send(.add(8, under: [id, 7]))
            await store.send(.start([id, 7, 8]))
        }
        await store.send(.remove(1, under: []))
        #expect(store.workInProgress == ["tick of 8 in 7 in 2"])
        await store.send(.remove(7, under: [2]))
        #expect(store.workInProgress.isEmpty)
        #expect(store.diagnostics.droppedForGoneParts == 0)
        await store.send(.add(7, under: [2]))
        await store.send(.add(8, under: [2, 7]))
        await store.advance(by: .seconds(3))
        #expect(store.state.jobs[id: 2]?.jobs[id: 7]?.jobs == [Job(id: 8)])
        await store.passivate()
        #expect(!store.isInMemory)
        await store.finish()
    }

    @Test func `a part that its own message removes from an outer part starts no work`() async {
        let office = Office()
        let store = TestStore(office)
        await store.send(.add(7, under: [1]))
        await store.receive(.job(1, .added(7))) { $0.jobs[id: 1]?.jobs = [Job(id: 7)] }
        await store.send(.close([1, 7]))
        await store.receive(.job(1, .job(7, .closed))) { $0.jobs[id: 1]?.jobs = [] }
        #expect(office.seen.all == ["true", "0 true", "true"])
        #expect(store.workInProgress.isEmpty)
        #expect(store.diagnostics.droppedForGoneParts == 1)
        await store.finish()
    }

    @Test func `an outer part sees what its part did before it threw, and goes on`() async {
        let office = Office()
        let store = TestStore(office)
        await store.send(.add(7, under: [1]))
        await store.receive(.job(1, .added(7))) { $0.jobs[id: 1]?.jobs = [Job(id: 7)] }
        await store.send(.throwIn([1, 7]))
        await store.receive(.job(1, .job(7, .ticked))) { $0.jobs[id: 1]?.jobs = [Job(id: 7, ticks: 1)] }
        await store.receive(.job(1, .ticked)) { $0.jobs[id: 1]?.ticks = 1 }
        #expect(office.seen.all == ["true", "1"])
        await store.finish()
    }

    @Test func `all parts of an optional part end with it: rows, an optional one, and one that is always there`() async
    {
        let office = Office()
        let store = TestStore(office, exhaustive: false)
        await store.send(.startProject)
        #expect(store.diagnostics.droppedForGoneParts == 1)
        await store.send(.open(Project(jobs: [Job(id: 1), Job(id: 2)], review: Job(id: 3))))
        await store.send(.startProject)
        #expect(office.seen.all == ["true"])
        #expect(store.workInProgress == ["tick of 1", "tick of 2", "tick of 3", "tick", "tick"])
        await store.send(.cancelProject)
        await store.advance(by: .seconds(1))
        await store.send(.review(4))
        #expect(store.workInProgress == ["tick of 1", "tick of 2", "tick"])
        await store.send(.review(nil))
        await store.send(.startProject)
        #expect(office.seen.all == ["true", "false"])
        await store.send(.shut)
        #expect(store.workInProgress.isEmpty)
        await store.send(.open(Project(jobs: [Job(id: 1)])))
        await store.advance(by: .seconds(2))
        #expect(store.state.project == Project(jobs: [Job(id: 1)]))
        await store.finish()
    }
}
