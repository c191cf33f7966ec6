import Glibc
import Locking
import MicroHTTP

/// Takes commands over the socket in the data folder: one connection at a time, one line each, on a thread of its own
/// that never keeps another one waiting. Further connections wait in the socket's queue, which is short.
///
/// The protocol, in lines of UTF-8: the client sends `NAME ARGUMENT`; the server answers `working`, and when it is
/// done `done TEXT` or `failed TEXT`. Then both close.
final class ControlServer: Sendable {
    private struct State {
        var isEnded = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// The thread's, which closes it.
    private let socket: Int32
    private let stopping: ControlPipe
    private let commands: [ControlCommand]
    private let patience: Duration
    private let state = Lock(State())

    /// Listens and serves from now on, until `stop`.
    ///
    /// - Parameter patience: how long a client may take to send its line.
    static func start(
        folder: String, commands: [ControlCommand], patience: Duration = .seconds(5)
    ) throws(ControlFailure) -> ControlServer {
        let pipe = try ControlPipe()
        let server = ControlServer(
            socket: try ControlAddress(folder: folder).listen(), stopping: pipe, commands: commands,
            patience: patience)
        guard let thread = SystemThread({ server.serve() }) else {
            close(server.socket)
            throw ControlFailure("The system has no thread left.")
        }
        thread.detach()
        return server
    }

    private init(socket: Int32, stopping: ControlPipe, commands: [ControlCommand], patience: Duration) {
        self.socket = socket
        self.stopping = stopping
        self.commands = commands
        self.patience = patience
    }

    /// Returns when the command that is being carried out, if any, is done, and nothing is listened to any more.
    func stop() async {
        stopping.wake()
        await withCheckedContinuation { continuation in
            let isEnded = state.withLock { state in
                if !state.isEnded { state.waiting.append(continuation) }
                return state.isEnded
            }
            if isEnded { continuation.resume() }
        }
    }

    // MARK: The thread

    private func serve() {
        var polled = [
            pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
            pollfd(fd: stopping.reading, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            let count = poll(&polled, 2, -1)
            if count < 0, errno != EINTR { break }
            guard count > 0 else { continue }
            if polled[1].revents != 0 { break }
            let descriptor = accept(socket, nil, nil)
            if descriptor >= 0 {
                _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
                answer(ControlLines(descriptor))
            } else if errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS {
                // The client stays in the queue; without a pause this would ask for it again and again.
                poll(&polled[1], 1, 1_000)
            }
        }
        // Whoever waits to be accepted is told so, and whoever comes later finds nobody.
        close(socket)
        end()
    }

    private func answer(_ lines: consuming ControlLines) {
        // A client that waits for nothing is not to hold up the stop.
        guard case .line(let line) = lines.read(within: patience, interruptedBy: stopping.reading) else { return }
        let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard let command = commands.first(where: { $0.name == parts[0] }) else {
            let known = commands.map(\.name).joined(separator: ", ")
            lines.write("failed This server knows no command '\(parts[0])'; it knows: \(known).")
            return
        }
        lines.write("working")
        switch wait(for: command, parts.count == 2 ? String(parts[1]) : "") {
        case .success(let text): lines.write("done \(text)")
        case .failure(let failure): lines.write("failed \(failure)")
        }
    }

    /// Runs a command in a task; this thread may wait for it.
    private func wait(for command: ControlCommand, _ argument: String) -> Result<String, ControlFailure> {
        let isDone: ControlPipe
        do { isDone = try ControlPipe() } catch { return .failure(error) }
        let result = Lock<Result<String, ControlFailure>?>(nil)
        Task {
            let answer = await command.run(argument)
            result.withLock { $0 = answer }
            isDone.wake()
        }
        isDone.wait()
        return result.withLock { $0 } ?? .failure(ControlFailure("The command was lost."))
    }

    private func end() {
        let waiting = state.withLock { state in
            state.isEnded = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
