import Locking
import MVI
import SessionJournal
import Sessions

/// Sessions with one stream each, without HTTP: from an intent's body to the stream's bytes.
final class Looped: Sendable {
    private let sessions: [(session: Session, stream: SessionStream)]
    private let tally: FeatureID
    private let next = Lock(0)
    private let body = Array(#"{"type":"add","amount":1}"#.utf8)

    /// - Parameter stores: The number of stores of each session.
    init(sessions count: Int, stores: Int = 1) throws {
        let tally = FeatureID(name: "tally", key: stores > 1 ? "0" : nil)
        let definition = try stores > 1 ? FeatureDefinition { _, _ in Tally() } : FeatureDefinition(Tally())
        let table = SessionTable(environment: SessionEnvironment(features: try FeatureRegistry([definition])))
        let made = Lock<[(session: Session, stream: SessionStream)]>([])
        for _ in 0..<count {
            table.make { session in
                session.openStream(.features([tally]), from: .now) { opened in
                    guard case .success(let stream) = opened else { fatalError("no stream was opened") }
                    stream.opened(Reader(stream))
                    made.withLock { $0.append((session, stream)) }
                }
                for number in 1..<max(1, stores) {
                    let intent = IntentRequest(body: Array(#"{"type":"increment"}"#.utf8))
                    session.send(intent, to: FeatureID(name: "tally", key: "\(number)")) { result in
                        guard case .success = result else { fatalError("a store was refused") }
                    }
                }
            }
        }
        sessions = made.withLock { $0 }
        self.tally = tally
    }

    func post() {
        let index = next.withLock { next in
            next = (next + 1) % sessions.count
            return next
        }
        sessions[index].session.send(IntentRequest(body: body, wantsState: false), to: tally) { result in
            guard case .success = result else { fatalError("an intent was refused") }
        }
    }

    /// Reads all available data on each wake, as a writable socket does.
    private final class Reader: StreamWaker {
        private let stream: SessionStream

        init(_ stream: SessionStream) { self.stream = stream }

        func wake() {
            while true {
                switch stream.nextStep() {
                case .write(let bytes): use(bytes)
                case .writeAll(let bytes): return use(bytes)
                case .wait, .finish: return
                }
            }
        }
    }
}

extension SessionTable {
    /// Calls `completion` with a new session.
    fileprivate func make(_ completion: @escaping @Sendable (Session) -> Void) {
        create(.bearer) { [self] created in
            guard case .success(let new) = created else { fatalError("no token was made") }
            find(new.token) { found in
                guard case .live(let session, _) = found else { fatalError("no session was made") }
                completion(session)
            }
        }
    }
}
