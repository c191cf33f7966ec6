import Locking

@testable import DemoFeatures

/// Thrown by a stub that should fail.
struct StubFailure: Error {}

struct StubNumbers: NumberRepository {
    var onNext: @Sendable () async throws -> Int = { throw StubFailure() }

    func next() async throws -> Int { try await onNext() }
}

struct StubVideos: VideoRepository {
    var onAll: @Sendable () async throws -> [Video] = { throw StubFailure() }
    var onViews: @Sendable () async throws -> Int = { throw StubFailure() }
    var onRecord: @Sendable (Int) async throws -> Int? = { _ in throw StubFailure() }

    func all() async throws -> [Video] { try await onAll() }
    func views() async throws -> Int { try await onViews() }
    func recordView(of id: Int) async throws -> Int? { try await onRecord(id) }
}

struct StubLessons: LessonRepository {
    var onLesson: @Sendable (String) async throws -> Lesson? = { _ in throw StubFailure() }
    var onSetEnrolled: @Sendable (Bool, String) async throws -> Void = { _, _ in throw StubFailure() }
    var onResend: @Sendable (String) async throws -> String = { _ in throw StubFailure() }

    func lesson(_ id: String) async throws -> Lesson? { try await onLesson(id) }
    func setEnrolled(_ isEnrolled: Bool, in id: String) async throws { try await onSetEnrolled(isEnrolled, id) }
    func resendConfirmation(of id: String) async throws -> String { try await onResend(id) }
}

struct StubOrders: OrderRepository {
    var onStatus: @Sendable (String) async throws -> OrderStatus = { _ in .received }
    var onInfo: @Sendable (String) async throws -> OrderInfo = { _ in .sample }
    var onFee: @Sendable (String) async throws -> OrderFee = { _ in .sample }
    var onScheduling: @Sendable (String) async throws -> OrderScheduling = { _ in .sample }
    var onTake: @Sendable (OrderStep, String) async throws -> OrderStatus = { _, _ in throw StubFailure() }

    func status(of id: String) async throws -> OrderStatus { try await onStatus(id) }
    func info(of id: String) async throws -> OrderInfo { try await onInfo(id) }
    func fee(of id: String) async throws -> OrderFee { try await onFee(id) }
    func scheduling(of id: String) async throws -> OrderScheduling { try await onScheduling(id) }
    func take(_ step: OrderStep, in id: String) async throws -> OrderStatus { try await onTake(step, id) }
}

struct StubUsers: UserRepository {
    var onCurrent: @Sendable () async throws -> User = { throw StubFailure() }

    func current() async throws -> User { try await onCurrent() }
}

extension Video {
    static let sample = Video(
        id: 3, title: "Server-sent events", speaker: "Priya Raghavan", conference: "Web Plumbers 2025",
        seconds: 2_645, slug: "server-sent-events")
}

extension Lesson {
    static let sample = Lesson(
        id: "8", title: "Serve and volley", coach: "Bram de Wit", level: "Intermediate",
        startsAt: LocalTime(year: 2026, month: 11, day: 26, hour: 9, minute: 30), minutes: 60,
        price: Money(cents: 3_150),
        venue: Venue(name: "Canal Court", address: "Westerkade 19, Amsterdam", latitude: 52.3712, longitude: 4.8764),
        freePlaces: 1, isEnrolled: true)
}

extension OrderInfo {
    static let sample = OrderInfo(
        customer: "Café Morgenrot", phone: "+49 30 5550 0142", address: "Kastanienweg 8, Berlin",
        subject: "Espresso machine loses pressure", notes: nil)
}

extension OrderFee {
    static let sample = OrderFee(lines: [
        OrderFee.Line(text: "Call-out", amount: Money(cents: 4_900)),
        OrderFee.Line(text: "Discount", amount: Money(cents: -1_500)),
    ])
}

extension OrderScheduling {
    static let sample = OrderScheduling(
        from: LocalTime(year: 2026, month: 11, day: 26, hour: 8, minute: 0),
        to: LocalTime(year: 2026, month: 11, day: 26, hour: 10, minute: 0), technician: nil)
}

extension User {
    static let sample = User(
        name: "Ada Bergström", email: "ada@example.org", phone: nil, city: "Göteborg", plan: "Team",
        joinedAt: LocalTime(year: 2021, month: 3, day: 18, hour: 9, minute: 12))
}

/// Returns one value after the other, then repeats the last one.
final class Sequenced<Value: Sendable>: Sendable {
    private let values: Lock<[Result<Value, StubFailure>]>

    init(_ values: Result<Value, StubFailure>...) { self.values = Lock(values) }

    func next() throws -> Value {
        let result = values.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
        return try result.get()
    }
}
