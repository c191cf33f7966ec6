/// The table on a terminal's screen. Redraws at new metrics and at changes of size, and clears the screen at the end.
struct TopScreen {
    /// An event that the screen handles.
    enum Event: Sendable {
        case answer(Result<Metrics, MetricsFailure>, time: Double)
        case key(UInt8)
        case resized
        /// A signal to quit.
        case ended
    }

    private let client: MetricsClient
    private let pause: Duration

    init(_ client: MetricsClient, _ pause: Duration) { (self.client, self.pause) = (client, pause) }

    func run() async throws {
        let (events, sender) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(64))
        let terminal = Terminal { sender.yield($0) }
        defer { terminal.restore() }
        let asking = Task { [client, pause] in
            while !Task.isCancelled {
                let result: Result<Metrics, MetricsFailure>
                do throws(MetricsFailure) { result = .success(try await client.read()) } catch {
                    result = .failure(error)
                }
                sender.yield(.answer(result, time: MetricsClient.now()))
                guard (try? await Task.sleep(for: pause)) != nil else { return }
            }
        }
        defer { asking.cancel() }
        var watch = Watch(address: client.address.shown)
        try draw(watch, terminal)
        for await event in events {
            switch event {
            case .answer(.success(let metrics), _): watch.took(metrics)
            case .answer(.failure(let failure), let time): watch.failed(failure.reason, time: time)
            case .resized: break
            // Also Ctrl-C and Ctrl-D, if the terminal does not turn them into signals.
            case .key(let key) where [UInt8(ascii: "q"), UInt8(ascii: "Q"), 3, 4].contains(key): return
            case .key: continue
            case .ended: return
            }
            guard try draw(watch, terminal) else { return }
        }
    }

    @discardableResult
    private func draw(_ watch: Watch, _ terminal: Terminal) throws -> Bool {
        let (rows, columns) = Terminal.size
        var lines = watch.lines(height: max(1, rows - 1))
        if rows > 1 {
            lines =
                lines.prefix(rows - 1) + [TableLine("q quits; updated every \(SettingTime.text(pause))", .dim)]
        }
        return try Tools.put(Screen.frame(lines, columns: columns, hasColours: Terminal.hasColours))
    }
}

/// The bytes for a terminal.
enum Screen {
    /// Draws lines from the top of the screen and clears the rest.
    static func frame(_ lines: [TableLine], columns: Int, hasColours: Bool) -> [UInt8] {
        let shown = lines.map { $0.terminal(width: columns, hasColours: hasColours) + "\u{1B}[K" }
        // Moves the cursor home, and at the end erases the rest of the screen (ECMA-48 sections 8.3.21, 8.3.39).
        return Array(("\u{1B}[H" + shown.joined(separator: "\r\n") + "\u{1B}[J").utf8)
    }

    /// Enters the alternate screen without a cursor, and leaves it (xterm's private modes).
    static let enter = Array("\u{1B}[?1049h\u{1B}[?25l".utf8)
    static let leave = Array("\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l".utf8)
}

/// Formats a time like a setting.
enum SettingTime {
    static func text(_ time: Duration) -> String {
        let milliseconds = Int64(time / .milliseconds(1))
        return milliseconds.isMultiple(of: 1_000) ? "\(milliseconds / 1_000) s" : "\(milliseconds) ms"
    }
}
