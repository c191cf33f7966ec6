import CPostgreSQL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A connection to a PostgreSQL server, in pipeline mode: statements are sent without waiting for results.
///
/// It belongs to one thread and blocks it: each method returns by its deadline, except for the look-up of a host's
/// name. After an error with the extent `connection` it is unusable.
package final class PostgresConnection {
    /// Closed in `deinit`.
    private let handle: OpaquePointer
    /// Receives the server's notices. The notice receiver has an unretained pointer to it: it lives as long as `self`.
    private let notices = NoticeKeeper()
    /// The number of statements in each pipeline whose results were not awaited.
    private var posted: [Int] = []
    /// Notifications received while waiting for something else.
    private var heard: [PostgresNotification] = []
    private var listens = false
    /// The time without a byte after which the connection is given up, before its deadline; nil for the deadline alone.
    package var longestSilence: Duration?

    /// Connects.
    package init(_ target: ConnectionTarget, deadline: ContinuousClock.Instant) throws(PostgresError) {
        let fault = target.refresh()
        // Copies that libpq reads before the call returns.
        let pairs = target.keywords
        var keywords: [UnsafePointer<CChar>?] = pairs.map { UnsafePointer(strdup($0.0)) }
        var values: [UnsafePointer<CChar>?] = pairs.map { UnsafePointer(strdup($0.1)) }
        defer { for text in keywords + values { free(UnsafeMutablePointer(mutating: text)) } }
        keywords.append(nil)
        values.append(nil)
        guard let handle = PQconnectStartParams(keywords, values, 1) else {
            throw .lost("There is no memory for a connection.")
        }
        self.handle = handle
        PQsetNoticeReceiver(handle, receiveNotice, Unmanaged.passUnretained(notices).toOpaque())
        do { try finishConnecting(deadline) } catch {
            guard let fault else { throw error }
            throw PostgresError(state: error.state, message: "\(error.message) \(fault)", extent: error.extent)
        }
        guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else { throw failure() }
    }

    deinit { PQfinish(handle) }

    /// The process id of the server process; behind a pooler one of the pooler's own.
    package var serverProcess: Int32 { PQbackendPID(handle) }

    /// Runs statements, each with one command, as one pipeline: after a failure the remaining ones do not run. Outside
    /// a transaction block they are one transaction; statements among them may begin and end one.
    ///
    /// - Returns: The result of each.
    /// - Throws: `PipelineFailure`. An open transaction may have to be rolled back.
    package func run(
        _ statements: [PostgresStatement], deadline: ContinuousClock.Instant
    ) throws(PipelineFailure) -> PipelineResult {
        notices.warnings = []
        var results: [PostgresRows] = []
        results.reserveCapacity(statements.count)
        var isSent = false
        do throws(PostgresError) {
            try takePosted(deadline)
            try expectAlive()
            notices.warnings = []
            isSent = true
            try sendPipeline(statements, deadline)
            var first: PostgresError?
            for _ in statements {
                do throws(PostgresError) {
                    let rows = try nextResult(deadline)
                    if first == nil { results.append(rows) }
                } catch {
                    if error.extent == .connection { throw first ?? error }
                    // The statements after it are not run and report that.
                    first = first ?? error
                }
            }
            try expectSync(deadline)
            if let first { throw first }
        } catch {
            throw PipelineFailure(
                error: error, isSent: isSent, completed: results, warnings: notices.warnings)
        }
        takeNotifications()
        return PipelineResult(rows: results, warnings: notices.warnings)
    }

    /// Detects a connection that was closed while idle: the fate of statements sent on it would be unknown.
    private func expectAlive() throws(PostgresError) {
        while true {
            var descriptor = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
            guard descriptor.fd >= 0 else { throw failure() }
            guard poll(&descriptor, 1, 0) > 0 else { return }
            guard PQconsumeInput(handle) == 1 else { throw failure() }
            // Parses it. A server gives its reason before it closes the connection.
            _ = PQisBusy(handle)
            if let reason = notices.end { throw .lost(reason) }
        }
    }

    /// Sends statements as one pipeline. The next call reads their results and ignores their errors.
    package func post(
        _ statements: [PostgresStatement], deadline: ContinuousClock.Instant
    ) throws(PostgresError) {
        try takePosted(deadline)
        try sendPipeline(statements, deadline)
        posted.append(statements.count)
    }

    /// Before anything else is sent: a pooler that gives each transaction to another server process takes the first
    /// response for the end of all, and mixes up later ones.
    private func takePosted(_ deadline: ContinuousClock.Instant) throws(PostgresError) {
        for count in posted {
            for _ in 0..<count {
                do throws(PostgresError) { _ = try nextResult(deadline) } catch {
                    if error.extent == .connection { throw error }
                }
            }
            try expectSync(deadline)
        }
        posted = []
    }

    /// Waits for notifications. Returns nothing after the deadline or when `wake` is signaled.
    package func notifications(
        until deadline: ContinuousClock.Instant, or wake: WakePipe
    ) throws(PostgresError) -> [PostgresNotification] {
        while true {
            takeNotifications()
            if !heard.isEmpty {
                defer { heard = [] }
                return heard
            }
            var descriptors = [
                pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0),
                pollfd(fd: wake.readEnd, events: Int16(POLLIN), revents: 0),
            ]
            guard descriptors[0].fd >= 0 else { throw failure() }
            let count = poll(&descriptors, 2, deadline.millisecondsLeft)
            guard count >= 0 || errno == EINTR else { throw .lost("Waiting for the connection's socket failed.") }
            if count == 0 || descriptors[1].revents != 0 { return [] }
            if descriptors[0].revents != 0, PQconsumeInput(handle) != 1 { throw failure() }
        }
    }

    /// Keeps the notifications that libpq has read, if this connection listens. Otherwise they would accumulate in
    /// libpq if a pooler gives this connection a server process that another one listened with.
    private func takeNotifications() {
        while let notification = PQnotifies(handle) {
            defer { PQfreemem(notification) }
            guard listens else { continue }
            heard.append(
                PostgresNotification(
                    channel: String(cString: notification.pointee.relname),
                    payload: String(cString: notification.pointee.extra)))
        }
    }

    /// Subscribes to channels: see `notifications`.
    package func listen(to channels: [String], deadline: ContinuousClock.Instant) throws(PipelineFailure) {
        listens = true
        _ = try run(
            channels.map { channel in
                let quoted = channel.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
                return PostgresStatement("LISTEN \"\(quoted)\"")
            }, deadline: deadline)
    }

    /// Runs commands without parameters, separated by `;`, in the open transaction or one of their own.
    package func script(_ sql: String, deadline: ContinuousClock.Instant) throws(PostgresError) {
        guard PQexitPipelineMode(handle) == 1, PQsendQuery(handle, sql) == 1 else { throw failure() }
        try flush(deadline)
        var first: PostgresError?
        while let result = try waitForResult(deadline) {
            defer { PQclear(result) }
            if PQresultStatus(result) == PGRES_FATAL_ERROR { first = first ?? error(of: result) }
        }
        if let first { throw first }
        guard PQenterPipelineMode(handle) == 1 else { throw failure() }
    }

    // MARK: Sending

    private func sendPipeline(
        _ statements: [PostgresStatement], _ deadline: ContinuousClock.Instant
    ) throws(PostgresError) {
        for statement in statements { try send(statement) }
        guard PQpipelineSync(handle) == 1 else { throw failure() }
        try flush(deadline)
    }

    private func send(_ statement: PostgresStatement) throws(PostgresError) {
        let values = statement.values
        let types = values.map { Oid($0.type.rawValue) }
        let lengths = values.map { Int32($0.bytes?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: values.count)
        // One buffer for all, which libpq copies before it returns. An empty value needs an address, too.
        var buffer: [UInt8] = []
        buffer.reserveCapacity(values.reduce(1) { $0 + ($1.bytes?.count ?? 0) })
        var offsets: [Int?] = []
        for value in values {
            offsets.append(value.bytes == nil ? nil : buffer.count)
            if let bytes = value.bytes { buffer.append(contentsOf: bytes) }
        }
        buffer.append(0)
        let sent = buffer.withUnsafeBytes { bytes in
            let base = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            let pointers: [UnsafePointer<CChar>?] = offsets.map { offset in offset.flatMap { base?.advanced(by: $0) } }
            return PQsendQueryParams(
                handle, statement.sql, Int32(values.count), types, pointers, lengths, formats, 1)
        }
        guard sent == 1 else { throw failure() }
    }

    /// Sends buffered data. Also reads, since a server that cannot send does not read.
    private func flush(_ deadline: ContinuousClock.Instant) throws(PostgresError) {
        while true {
            let rest = PQflush(handle)
            if rest == 0 { return }
            guard rest == 1 else { throw failure() }
            let ready = try wait(for: POLLIN | POLLOUT, deadline)
            if ready & Int32(POLLIN) != 0, PQconsumeInput(handle) != 1 { throw failure() }
        }
    }

    // MARK: Receiving

    /// Returns the next statement's result and reads the mark of its end.
    private func nextResult(_ deadline: ContinuousClock.Instant) throws(PostgresError) -> PostgresRows {
        guard let result = try waitForResult(deadline) else { throw failure() }
        defer { PQclear(result) }
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
            guard try waitForResult(deadline) == nil else { throw .lost("The database sent an unexpected result.") }
            return rows(of: result)
        case PGRES_PIPELINE_ABORTED:
            guard try waitForResult(deadline) == nil else { throw .lost("The database sent an unexpected result.") }
            throw PostgresError(state: nil, message: "An earlier statement failed.", extent: .transaction)
        default:
            let error = error(of: result)
            if error.extent == .transaction, try waitForResult(deadline) != nil {
                throw .lost("The database sent an unexpected result.")
            }
            throw error
        }
    }

    private func expectSync(_ deadline: ContinuousClock.Instant) throws(PostgresError) {
        guard let result = try waitForResult(deadline) else { throw failure() }
        defer { PQclear(result) }
        guard PQresultStatus(result) == PGRES_PIPELINE_SYNC else { throw error(of: result) }
    }

    /// Returns the next result, which the caller frees; nil at the end of a statement's results.
    private func waitForResult(_ deadline: ContinuousClock.Instant) throws(PostgresError) -> OpaquePointer? {
        while PQisBusy(handle) == 1 {
            _ = try wait(for: POLLIN, deadline)
            guard PQconsumeInput(handle) == 1 else { throw failure() }
        }
        return PQgetResult(handle)
    }

    private func rows(of result: OpaquePointer) -> PostgresRows {
        let (count, width) = (PQntuples(result), PQnfields(result))
        let rows = (0..<count).map { row in
            PostgresRow(
                columns: (0..<width).map { column in
                    guard PQgetisnull(result, row, column) == 0, let value = PQgetvalue(result, row, column) else {
                        return nil
                    }
                    let length = Int(PQgetlength(result, row, column))
                    return Array(UnsafeRawBufferPointer(start: value, count: length))
                })
        }
        let status = PQcmdStatus(result).map { String(cString: $0) } ?? ""
        let affected = PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
        return PostgresRows(
            command: String(status.prefix { $0 != " " }), affected: affected, rows: rows)
    }

    // MARK: Errors

    private func error(of result: OpaquePointer) -> PostgresError {
        let state = PQresultErrorField(result, diagnostic("C")).map { String(cString: $0) }
        let severity = PQresultErrorField(result, diagnostic("V")).map { String(cString: $0) }
        guard let state, let severity else { return failure() }
        let message = PQresultErrorField(result, diagnostic("M")).map { String(cString: $0) } ?? ""
        // https://www.postgresql.org/docs/15/protocol-error-fields.html: only these end the connection.
        let isFatal = severity == "FATAL" || severity == "PANIC"
        return PostgresError(state: state, message: message.oneLine, extent: isFatal ? .connection : .transaction)
    }

    /// Returns the connection's error.
    private func failure() -> PostgresError {
        let message = PQerrorMessage(handle).map { String(cString: $0).oneLine } ?? ""
        return .lost(message.isEmpty ? "The connection to the database is lost." : message)
    }

    private func finishConnecting(_ deadline: ContinuousClock.Instant) throws(PostgresError) {
        var events = POLLOUT
        guard PQstatus(handle) != CONNECTION_BAD else { throw failure() }
        while true {
            _ = try wait(for: events, deadline)
            switch PQconnectPoll(handle) {
            case PGRES_POLLING_READING: events = POLLIN
            case PGRES_POLLING_WRITING: events = POLLOUT
            case PGRES_POLLING_OK: return
            default: throw failure()
            }
        }
    }

    /// Waits until the socket is ready. Returns the events.
    private func wait(for events: Int32, _ deadline: ContinuousClock.Instant) throws(PostgresError) -> Int32 {
        let deadline = longestSilence.map { min(deadline, .now + $0) } ?? deadline
        while true {
            let milliseconds = deadline.millisecondsLeft
            guard milliseconds > 0 else { throw .lost("The database did not answer in time.") }
            var descriptor = pollfd(fd: PQsocket(handle), events: Int16(events), revents: 0)
            guard descriptor.fd >= 0 else { throw failure() }
            let count = poll(&descriptor, 1, milliseconds)
            if count > 0 { return Int32(descriptor.revents) }
            guard count == 0 || errno == EINTR else { throw .lost("Waiting for the connection's socket failed.") }
        }
    }
}

/// A notification of a channel.
package struct PostgresNotification: Sendable, Hashable {
    package let channel: String
    package let payload: String
}

/// The result of a pipeline.
package struct PipelineResult: Sendable {
    /// The result of each statement.
    package let rows: [PostgresRows]
    /// SQLSTATEs of the warnings received meanwhile.
    package let warnings: [String]
}

/// The error that stopped a pipeline.
package struct PipelineFailure: Error, Sendable {
    /// The error of the first failed statement, or of the connection.
    package let error: PostgresError
    /// True if any of the pipeline was sent.
    package let isSent: Bool
    /// The results of the statements before the failure.
    package let completed: [PostgresRows]
    /// SQLSTATEs of the warnings received meanwhile.
    package let warnings: [String]
}

/// Stores a server's warnings. It belongs to the connection's thread, like the connection.
private final class NoticeKeeper {
    /// SQLSTATEs.
    var warnings: [String] = []
    /// The reason for which the server ends the connection.
    var end: String?
}

/// libpq's notice receiver, called on the thread that reads results.
private func receiveNotice(_ keeper: UnsafeMutableRawPointer?, _ result: OpaquePointer?) {
    guard let keeper, let result, let severity = PQresultErrorField(result, diagnostic("V")) else { return }
    let notices = Unmanaged<NoticeKeeper>.fromOpaque(keeper).takeUnretainedValue()
    func field(_ letter: Unicode.Scalar) -> String {
        PQresultErrorField(result, diagnostic(letter)).map { String(cString: $0) } ?? ""
    }
    switch String(cString: severity) {
    case "WARNING": notices.warnings.append(field("C"))
    // Sent while no statement runs.
    case "FATAL", "PANIC": notices.end = field("M").oneLine
    default: break
    }
}

/// The code of an error's field: https://www.postgresql.org/docs/15/protocol-error-fields.html
private func diagnostic(_ letter: Unicode.Scalar) -> Int32 { Int32(UInt8(ascii: letter)) }

extension String {
    /// The text with spaces in place of line breaks.
    fileprivate var oneLine: String { split(whereSeparator: \.isNewline).joined(separator: " ") }
}
