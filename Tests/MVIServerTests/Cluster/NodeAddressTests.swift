import Testing

@testable import MVIServer

@Suite("Addresses of nodes")
struct NodeAddressTests {
    @Test(arguments: ["10.0.0.3:8080", "[fd00::3]:8080", "node-3.example:1", "localhost:65535", "a_b:80"])
    func `a host and a port are an address`(text: String) async throws {
        #expect(NodeAddress.isWellFormed(text))
        #expect(try ServerSettings.load(flags: ["node-address": text], environment: [:]).nodeAddress == text)
    }

    @Test(arguments: [
        "", "10.0.0.3", ":8080", "a:", "a:0", "a:65536", "a:b", "fd00::3:8080", "[]:80", "http://a:80", "a/b:80",
        "user@a:80", "a:80/", "ä:80", "[fd00::3:80", "a b:80",
    ])
    func `malformed addresses are refused`(text: String) { #expect(!NodeAddress.isWellFormed(text)) }

    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1:81"), ("::1", "[::1]:81"), ("10.1.2.3", "10.1.2.3:81"), ("0.0.0.0", "machine:81"),
        ("::", "machine:81"),
    ])
    func `the default is the address of the server, with the machine's name on every interface`(
        host: String, address: String
    ) { #expect(NodeAddress.of(host: host, port: 81) { "machine" } == address) }

    @Test func `a server has the address of its settings, or one with the port that the system chose`() async throws {
        try await TestServer.run(.socket) { server in
            #expect(server.assembly.nodeAddress == "127.0.0.1:\(server.port)")
        }
        try await TestServer.run(.socket, { $0.nodeAddress = "node-1:80" }) { server in
            #expect(server.assembly.nodeAddress == "node-1:80")
        }
        var settings = ServerSettings()
        settings.host = "0.0.0.0"
        #expect(NodeAddress.isWellFormed(settings.ownAddress(port: 80)))
    }
}
