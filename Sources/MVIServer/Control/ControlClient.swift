import Locking
import MicroHTTP

/// A command's side of the socket in a server's data folder.
package enum ControlClient {
    /// Asks the server of a data folder to do something, and returns when it is done: a line about it; nil if no server
    /// listens there.
    ///
    /// - Throws: why the server did not do it, or why it could not be asked.
    package static func ask(
        _ command: String, _ argument: String, folder: String
    ) async throws(ControlFailure) -> String? {
        // Waiting may take minutes, and the threads of the pool are few.
        let result = await withCheckedContinuation { continuation in
            let thread = SystemThread {
                continuation.resume(
                    returning: Result { () throws(ControlFailure) in
                        try askBlocking(command, argument, folder: folder)
                    })
            }
            if let thread {
                thread.detach()
            } else {
                continuation.resume(returning: .failure(ControlFailure("The system has no thread left.")))
            }
        }
        return try result.get()
    }

    private static func askBlocking(
        _ command: String, _ argument: String, folder: String
    ) throws(ControlFailure) -> String? {
        guard !argument.utf8.contains(where: { $0 == UInt8(ascii: "\n") || $0 == 0 }) else {
            throw ControlFailure("'\(argument)' has a line break or a NUL in it; give another name.")
        }
        guard let descriptor = try ControlAddress(folder: folder).connect() else { return nil }
        let lines = ControlLines(descriptor)
        guard lines.write("\(command) \(argument)") else {
            throw ControlFailure("The server took no command. Try again.")
        }
        // It says at once that it has begun, and is then given all the time that it needs.
        switch lines.read(within: .seconds(10)) {
        case .line("working"): break
        case .line(let line): return try answer(line)
        case .late: throw ControlFailure("The server is busy with another command. Try again when that is done.")
        case .end, .interrupted: throw ControlFailure("The server ended before it had done it.")
        }
        guard case .line(let line) = lines.read(within: nil) else {
            throw ControlFailure("The server ended before it had done it.")
        }
        return try answer(line)
    }

    private static func answer(_ line: String) throws(ControlFailure) -> String {
        let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        let text = parts.count == 2 ? String(parts[1]) : ""
        switch parts.first {
        case "done": return text
        case "failed": throw ControlFailure(text)
        default: throw ControlFailure("The server answered '\(line)', which this version does not understand.")
        }
    }
}
