import Locking
import MVI
import MVITesting
import SessionJournal
import Sessions
import TestSupport
import Testing
import WireJSON

@Suite("57: checks that write")
struct CheckWriteTests {
    /// Seats outside the server, each for one request.
    final class Hall: Sendable {
        private let taken = Lock<[String]>([])
        private let seats: Int

        init(seats: Int) { self.seats = seats }

        /// Returns the request's seat, also if it took it before; nil if there is none left.
        func take(_ request: String) -> Int? {
            taken.withLock { taken in
                if let seat = taken.firstIndex(of: request) { return seat + 1 }
                guard taken.count < seats else { return nil }
                taken.append(request)
                return taken.count
            }
        }

        var count: Int { taken.withLock { $0.count } }
    }

    struct Booking: Feature {
        struct State: Codable, Equatable, Sendable { var seats: [Int] = [] }
        enum Intent: Codable, Sendable { case book }
        enum Action: Codable, Sendable { case booked(seat: Int) }
        typealias Message = Int
        static let examples: [Intent] = [.book]
        let initialState = State()
        let hall: Hall

        func check(_ intent: Intent) -> Check? {
            { [hall] context in
                guard let seat = hall.take("\(context.session.id) \(context.intentID)") else {
                    throw Refusal(.conflict, code: "sold-out", "There is no seat left.")
                }
                return .perform(.booked(seat: seat))
            }
        }

        func execute(_ intent: Intent, _ turn: inout Turn<Self>) {}
        func perform(_ action: Action, _ turn: inout Turn<Self>) {
            switch action {
            case .booked(let seat): turn.dispatch(seat)
            }
        }
        func reduce(_ state: inout State, _ seat: Int) { state.seats.append(seat) }
    }

    @Test("57: a check writes once for each intent's id, the turn runs with the result, and a refusal comes at once")
    func once() async throws {
        let (hall, journal) = (Hall(seats: 1), HeldJournal(MemoryJournal()))
        let table = SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry([FeatureDefinition(Booking(hall: hall))]), limits: .patient,
                journal: journal))
        let session = try table.made(.bearer).session
        let booking = FeatureID(name: "booking", key: nil)
        func book(_ key: String) async throws -> Result<IntentOutcome, StoreError> {
            let answer = Answer()
            session.send(IntentRequest(body: Array(#"{"type":"book"}"#.utf8), name: .key(key)), to: booking) {
                answer.set($0)
            }
            return try await answer.wait()
        }
        _ = try session.stateNow(of: booking)
        // Written, but the turn is not committed.
        journal.fail(.unavailable)
        #expect(try await book("a").code == .unavailable)
        #expect(hall.count == 1)
        journal.fail(nil)
        _ = try await book("a").get()
        _ = try await book("a").get()
        #expect(hall.count == 1)
        #expect(try await book("b").refusalCode == "sold-out")
        let state = try WireJSON.decode(Booking.State.self, from: try session.stateNow(of: booking).view)
        #expect(state.seats == [1])
    }
}
