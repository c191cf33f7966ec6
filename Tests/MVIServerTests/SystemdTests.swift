import Locking
import Logging
import ServiceLifecycle
import TestSupport
import Testing

@testable import MVIServer

@Suite("Notifications of systemd", .timeLimit(.minutes(10)))
struct SystemdTests {
    private let log = LogKeeper()

    private func make(_ address: String?, watchdog: String? = nil, for process: String? = nil) -> SystemdNotifier? {
        let variables = ["NOTIFY_SOCKET": address, "WATCHDOG_USEC": watchdog, "WATCHDOG_PID": process]
        return SystemdNotifier(process: 42, logger: log.logger) { variables[$0] ?? nil }
    }

    @Test(arguments: NotifyReceiver.Kind.allCases)
    func `a server notifies that it serves, lives and stops`(kind: NotifyReceiver.Kind) async throws {
        let receiver = try NotifyReceiver(kind)
        let notifier = try #require(make(receiver.address, watchdog: "4000000"))
        try await TestServer.run(.memory, systemd: notifier) { server in
            let services: [any Service] = [
                SystemdWatchdog(notifier: notifier, monitor: server.assembly.monitor), HTTPService(server.assembly),
            ]
            let group = ServiceGroup(
                configuration: ServiceGroupConfiguration(services: services, logger: server.assembly.logger))
            async let end: Void = group.run()
            var (hasServed, hasLived) = (false, false)
            while !hasServed || !hasLived {
                let message = try await receiver.next()
                if message == ["WATCHDOG=1"] {
                    hasLived = true
                } else {
                    #expect(message == ["READY=1", "STATUS=Serving on http://127.0.0.1:\(server.port)"])
                    hasServed = true
                }
            }
            await group.triggerGracefulShutdown()
            try await end
            let last = receiver.pending().filter { $0 != ["WATCHDOG=1"] }
            #expect(last == [["STOPPING=1", "STATUS=Stopping: 0 streams are asked to end"]])
            #expect(log.lines == [])
        }
    }

    @Test func `a part that does not answer ends the messages of the watchdog, and the status names it`() throws {
        let receiver = try NotifyReceiver(.name)
        let notifier = try #require(make(receiver.address, watchdog: "60000000"))
        notifier.serves("Serving")
        notifier.watch(silent: [])
        notifier.watch(silent: [])
        notifier.watch(silent: ["the pump", "the tank"])
        notifier.watch(silent: ["the pump", "the tank"])
        notifier.watch(silent: ["the tank"])
        notifier.watch(silent: [])
        #expect(
            receiver.pending() == [
                ["READY=1", "STATUS=Serving"], ["WATCHDOG=1"], ["WATCHDOG=1"],
                ["STATUS=No answer from the pump and the tank"], ["STATUS=No answer from the tank"],
                ["WATCHDOG=1", "STATUS=Serving"],
            ])
    }

    @Test func `a hung part stops the watchdog's messages until it answers`() throws {
        let receiver = try NotifyReceiver(.path)
        let notifier = try #require(make(receiver.address, watchdog: "60000000"))
        let (waiting, now) = (Lock<(@Sendable () -> Void)?>(nil), Lock(Duration.zero))
        let monitor = PartsMonitor(
            [PartsMonitor.Part(name: "the pump") { answer in waiting.withLock { $0 = answer } }],
            time: { now.withLock { $0 } })
        monitor.ask()
        notifier.watch(silent: monitor.silent)
        now.withLock { $0 = .seconds(3) }
        notifier.watch(silent: monitor.silent)
        waiting.withLock { $0 }?()
        notifier.watch(silent: monitor.silent)
        #expect(
            receiver.pending() == [["WATCHDOG=1"], ["STATUS=No answer from the pump"], ["WATCHDOG=1", "STATUS="]])
    }

    @Test func `a unit without WatchdogSec gets no message of the watchdog`() throws {
        let receiver = try NotifyReceiver(.name)
        let unwatched = [
            make(receiver.address), make(receiver.address, watchdog: "soon"),
            make(receiver.address, watchdog: "0"), make(receiver.address, watchdog: "60000000", for: "41"),
        ]
        for notifier in unwatched {
            try #require(notifier?.watchdogTime == nil && notifier != nil)
            notifier?.watch(silent: [])
        }
        #expect(receiver.pending() == [])
        let watched = try #require(make(receiver.address, watchdog: "60000000", for: "42"))
        #expect(watched.watchdogTime == .seconds(60))
    }

    @Test func `the watchdog checks each second, or twice in a shorter timeout`() {
        #expect(SystemdWatchdog.interval(nil) == .seconds(1))
        #expect(SystemdWatchdog.interval(.seconds(60)) == .seconds(1))
        #expect(SystemdWatchdog.interval(.milliseconds(500)) == .milliseconds(250))
    }

    @Test func `without systemd nothing is sent and nothing is logged`() {
        #expect(make(nil) == nil)
        #expect(make("") == nil)
        #expect(log.lines == [])
    }

    @Test(arguments: ["run/systemd/notify", "vsock:2:1234", "@", "/" + String(repeating: "x", count: 107)])
    func `a malformed address is logged with the reason, and nothing is sent`(address: String) throws {
        #expect(make(address) == nil)
        let line = try #require(log.lines.first)
        #expect(line.contains("NOTIFY_SOCKET is not the address of a socket") && line.contains(address))
        #expect(log.lines.count == 1)
    }

    @Test func `an address may be as long as the system allows`() throws {
        #expect(make("/" + String(repeating: "x", count: 106)) != nil)
        #expect(make("@" + String(repeating: "x", count: 107)) != nil)
        #expect(make("@" + String(repeating: "x", count: 108)) == nil)
    }

    @Test(arguments: ["/nowhere/notify", "@mvi-test-of-nobody"])
    func `a message that cannot be sent is logged once, and the server serves`(address: String) async throws {
        let notifier = try #require(make(address, watchdog: "60000000"))
        try await TestServer.run(.memory, systemd: notifier) { server in
            let group = ServiceGroup(
                configuration: ServiceGroupConfiguration(
                    services: [HTTPService(server.assembly)], logger: server.assembly.logger))
            async let end: Void = group.run()
            while server.port == 0 { await Task.yield() }
            let client = SocketClient(port: server.port)
            #expect(try await client.exchange(TestRequest("GET", "/health/ready")).status == 200)
            notifier.watch(silent: [])
            await group.triggerGracefulShutdown()
            try await end
        }
        #expect(log.messages == ["warning systemd could not be notified: it may end the service"])
        #expect(log.lines[0].contains("READY=1"))
    }
}
