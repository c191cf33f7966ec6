import MicroHTTP
import Networks
import WireJSON

/// `/diagnostics/request`: the request as it arrived after all proxies, for `mvi-server doctor`.
///
/// Describes the caller's own request only. Private addresses are replaced by their kind.
struct DiagnosticsEndpoints: Sendable {
    let addresses: ClientAddress

    var all: [Route] {
        [
            Route("describeRequest", "/diagnostics/request") { incoming in
                Response(
                    status: 200, fields: AnswerFields.momentaryJSON,
                    body: .bytes(Self.document(incoming.head, addresses)))
            }
        ]
    }

    /// Returns the description of a request for its client.
    static func document(_ head: RequestHead, _ addresses: ClientAddress) -> [UInt8] {
        let noted = addresses.noted(head)
        var object = JSONObject()
        object.add("http", head.isHTTP10 ? "1.0" : "1.1")
        object.add("keepsConnection", keepsConnection(head))
        object.add("forwarded", noted.rawValue)
        if noted == .used {
            let client = addresses.of(head)
            object.add("client", client.shownName)
            object.add("clientIsTrusted", addresses.isTrusted(client))
        }
        return object.close()
    }

    /// True if the last proxy or the client allows another request on the connection (RFC 9112 section 9.3).
    private static func keepsConnection(_ head: RequestHead) -> Bool {
        let options = String(decoding: head.fields.list(of: "connection"), as: UTF8.self).lowercased()
            .split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }
        return head.isHTTP10 ? options.contains("keep-alive") : !options.contains("close")
    }
}

extension PeerAddress {
    /// The address, or `loopback` or `private` for one that is not public.
    fileprivate var shownName: String {
        for (name, ranges) in Self.hidden where ranges.contains(where: { $0.contains(self) }) { return name }
        return description
    }

    private static let hidden: [(name: String, ranges: [AddressRange])] = [
        ("loopback", ["127.0.0.0/8", "::1"].compactMap { AddressRange($0) }),
        (
            "private",
            // RFC 1918, RFC 6598, RFC 3927, RFC 4193 and RFC 4291 section 2.5.6.
            [
                "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16", "fc00::/7",
                "fe80::/10",
            ].compactMap { AddressRange($0) }
        ),
    ]
}
