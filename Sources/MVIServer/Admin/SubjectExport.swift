import Locking
import MicroHTTP
import SessionJournal
import Sessions

/// A subject's sessions as lines of JSON, each read when the one before was sent, and a line of the spaces to which the
/// subject sent something. If a session cannot be read, the last line is a problem.
final class SubjectExport: StreamSource {
    private struct State {
        var ids: ArraySlice<String>
        /// Nil for none, and once it is sent.
        var last: [UInt8]?
        var line: [UInt8]?
        var isReading = false
        var handle: StreamHandle?
    }

    private let table: SessionTable
    private let state: Lock<State>

    init(_ table: SessionTable, _ ids: [String], _ spaces: [VisitedSpace]) {
        self.table = table
        state = Lock(State(ids: ids[...], last: VisitsDocument.line(spaces)))
    }

    func opened(_ stream: StreamHandle) { state.withLock { $0.handle = stream } }

    func nextStep() -> StreamStep {
        while true {
            let (step, id) = state.withLock { state -> (StreamStep, String?) in
                if let line = state.line.take() { return (.write(line), nil) }
                if state.isReading { return (.wait, nil) }
                guard let id = state.ids.popFirst() else { return (.finish(state.last.take() ?? []), nil) }
                state.isReading = true
                return (.wait, id)
            }
            guard let id else { return step }
            // A journal in memory answers at once.
            read(id)
        }
    }

    private func read(_ id: String) {
        table.environment.journal.export(id) { [self] result in
            let handle = state.withLock { state -> StreamHandle? in
                state.isReading = false
                switch result {
                // Nil if it ended meanwhile.
                case .success(let export): state.line = export.map { SessionDocument.line($0) }
                case .failure(let error):
                    state.line = Problem(error).body(instance: nil) + [UInt8(ascii: "\n")]
                    (state.ids, state.last) = ([], nil)
                }
                return state.handle
            }
            handle?.wake()
        }
    }

    func heartbeat() -> [UInt8]? { nil }
    func aged() {}
    func closed(_ reason: StreamEnd) { state.withLock { $0.handle = nil } }
}
