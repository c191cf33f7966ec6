import Locking
import Testing

@testable import MicroHTTP

@Suite struct ExchangeStateTests {
    private typealias State = ExchangeState<Int>

    /// Returns the consequence of an answer, in words.
    private func answer(_ state: inout State, status: Int = 200, overruling: Bool = false) -> String {
        switch state.respond(Response(status: status), overruling: overruling) {
        case .none: "none"
        case .ask: "ask"
        case .resume(let connection): "resume \(connection)"
        case .drop: "drop"
        case .refuse: "refuse"
        }
    }

    /// Returns the reply to the library's question, in words.
    private func ask(_ state: inout State) -> String {
        switch state.ask() {
        case .response(let response, let wasSuspended): "\(response.status)\(wasSuspended ? " after suspension" : "")"
        case .wait: "wait"
        case .suspend: "suspend"
        }
    }

    /// A state whose handler has returned without a response.
    private func waiting() -> State {
        var state = State()
        let response = state.handlerReturned()
        #expect(response == nil)
        return state
    }

    /// A state that was asked in vain until it asks to be suspended.
    private func impatient() -> State {
        var state = waiting()
        for _ in 1..<State.patience { #expect(ask(&state) == "wait") }
        #expect(ask(&state) == "suspend")
        return state
    }

    /// A state whose connection, 7, is suspended.
    private func suspended() -> State {
        var state = impatient()
        let resumes = state.suspended(7)
        #expect(!resumes)
        return state
    }

    @Test func `An answer within the handler is sent at once`() {
        var state = State()
        #expect(answer(&state) == "none")
        let response = state.handlerReturned()
        #expect(response?.status == 200)
        #expect(state.name == "completed")
        #expect(answer(&state) == "refuse")
    }

    @Test func `An answer to a waiting request is fetched by the next question`() {
        var state = waiting()
        #expect(ask(&state) == "wait")
        #expect(answer(&state) == "ask")
        #expect(answer(&state) == "refuse")
        #expect(ask(&state) == "200")
        let left = state.abandon()
        #expect(left.response == nil && !left.wasWaiting)
    }

    @Test func `An answer while the connection is being suspended resumes it when it is`() {
        var state = impatient()
        #expect(answer(&state) == "ask")
        let resumes = state.suspended(7)
        #expect(resumes)
        #expect(ask(&state) == "200 after suspension")
    }

    @Test func `An answer to a suspended connection resumes it, once`() {
        var state = suspended()
        #expect(answer(&state) == "resume 7")
        #expect(answer(&state) == "refuse")
        #expect(ask(&state) == "200 after suspension")
        let left = state.abandon()
        #expect(left.response == nil && !left.wasWaiting)
    }

    @Test func `After an answer in place of the handler's, the handler's is late and not a second one`() {
        var state = waiting()
        #expect(answer(&state, status: 503, overruling: true) == "ask")
        #expect(answer(&state) == "drop")
        #expect(answer(&state, status: 503, overruling: true) == "drop")
        #expect(ask(&state) == "503")
        #expect(answer(&state) == "drop")
    }

    @Test func `An answer in place of the handler's comes too late after the handler's`() {
        var state = suspended()
        #expect(answer(&state) == "resume 7")
        #expect(answer(&state, status: 503, overruling: true) == "drop")
        #expect(ask(&state) == "200 after suspension")
    }

    @Test func `An answer that was not fetched comes back when the connection is gone`() {
        var state = waiting()
        #expect(answer(&state) == "ask")
        let left = state.abandon()
        #expect(left.response?.status == 200 && left.wasWaiting)
        #expect(answer(&state) == "drop")
    }

    @Test func `A waiting request whose connection is gone waits no longer`() {
        var state = waiting()
        let left = state.abandon()
        #expect(left.response == nil && left.wasWaiting)
        #expect(answer(&state) == "drop")
    }

    @Test func `A question while the connection is suspended traps`() async {
        await #expect(processExitsWith: .failure) {
            var state = ExchangeState<Int>()
            _ = state.handlerReturned()
            for _ in 1...ExchangeState<Int>.patience { _ = state.ask() }
            _ = state.suspended(1)
            _ = state.ask()
        }
    }

    @Test func `A suspension within the handler traps`() async {
        await #expect(processExitsWith: .failure) {
            var state = ExchangeState<Int>()
            _ = state.suspended(1)
        }
    }
}

@Suite struct StreamWriterStateTests {
    private static func time(_ state: inout StreamWriterState, _ now: UInt64) -> StreamWriterState.TimerAction {
        state.timeReached(now, heartbeat: 100, writeDeadline: 300)
    }

    // The macro cannot call mutating methods.
    private static func leave(_ state: inout StreamWriterState, _ note: StreamWriterState.Notes) -> Bool {
        state.leave(note)
    }

    private static func demandEnd(_ state: inout StreamWriterState, _ reason: StreamEnd) -> Bool {
        state.demandEnd(reason)
    }

    private static func rest(_ state: inout StreamWriterState, _ work: StreamWriterState.Work, wroteAt time: UInt64?)
        -> Bool
    {
        state.rest(work, wroteAt: time)
    }

    private func state() -> StreamWriterState { StreamWriterState(source: TestSource(), now: 0) }

    /// A state at rest with nothing to write.
    private func idle() -> StreamWriterState {
        var state = state()
        _ = state.beginTurn()
        #expect(Self.rest(&state, StreamWriterState.Work(), wroteAt: nil))
        return state
    }

    /// A state at rest with bytes that the socket did not accept.
    private func blocked(at time: UInt64 = 0) -> StreamWriterState {
        var state = state()
        var work = state.beginTurn().work
        work.leftover = [1]
        #expect(Self.rest(&state, work, wroteAt: time))
        return state
    }

    @Test func `The first thread that wakes an idle stream writes, the next one only leaves a note`() {
        var state = idle()
        #expect(Self.leave(&state, .more))
        #expect(!Self.leave(&state, .more))
        let turn = state.beginTurn()
        #expect(turn.notes == .more)
    }

    @Test func `A note left while the writer was busy keeps it from resting`() {
        var state = idle()
        #expect(Self.leave(&state, .more))
        let work = state.beginTurn().work
        #expect(!Self.leave(&state, .more))
        #expect(!Self.rest(&state, work, wroteAt: nil))
        _ = state.beginTurn()
        #expect(Self.rest(&state, work, wroteAt: nil))
    }

    @Test func `A blocked stream is woken by room, not by more to write`() {
        var state = blocked()
        #expect(!Self.leave(&state, .more))
        #expect(!Self.leave(&state, .close))
        #expect(Self.leave(&state, .writable))
        let turn = state.beginTurn()
        #expect(turn.work.leftover == [1])
        #expect(turn.notes == [.more, .close, .writable])
    }

    @Test func `Room that came while the writer was giving up keeps it from resting`() {
        var state = state()
        var work = state.beginTurn().work
        work.leftover = [1]
        #expect(!Self.leave(&state, .writable))
        #expect(!Self.rest(&state, work, wroteAt: nil))
    }

    @Test func `Room is no news to a stream with nothing to write`() {
        var state = idle()
        #expect(!Self.leave(&state, .writable))
    }

    @Test func `The first reason to end counts`() {
        var state = idle()
        #expect(Self.demandEnd(&state, .peerClosed))
        #expect(!Self.demandEnd(&state, .shutdown))
        let turn = state.beginTurn()
        #expect(turn.end == .peerClosed)
        state.close()
        #expect(!Self.demandEnd(&state, .error))
        #expect(!Self.leave(&state, .more))
    }

    @Test func `A quiet stream beats after the interval since it last wrote`() {
        var state = idle()
        #expect(Self.time(&state, 99) == .later(100))
        #expect(Self.time(&state, 100) == .run(200))
        let turn = state.beginTurn()
        #expect(turn.notes == .heartbeat)
        #expect(Self.rest(&state, StreamWriterState.Work(), wroteAt: 150))
        #expect(Self.time(&state, 200) == .later(250))
    }

    @Test func `A blocked stream ends at the deadline since the socket last took something`() {
        var state = blocked(at: 50)
        #expect(Self.time(&state, 349) == .later(350))
        #expect(Self.time(&state, 350) == .run(450))
        let turn = state.beginTurn()
        #expect(turn.end == .writeDeadline)
    }

    @Test func `A closed stream has no time`() {
        var state = idle()
        #expect(Self.demandEnd(&state, .error))
        _ = state.beginTurn()
        state.close()
        #expect(Self.time(&state, 1_000) == .none)
    }
}
