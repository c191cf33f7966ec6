import MicroHTTP
import WireJSON

extension Response {
    /// The fields of a single connection, and those that this server writes itself.
    private static let ofTheConnection: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "te", "trailer", "transfer-encoding",
        "upgrade", "date", "content-length",
    ]

    /// Creates a copy of another node's answer without the fields of the connection and CORS, which this server adds.
    /// Nil for an answer that servers of this kind do not give.
    init?(relaying answer: PeerResponse) {
        guard 200...599 ~= answer.status else { return nil }
        let fields = answer.fields.filter { field in
            let name = field.name.lowercased()
            return !Self.ofTheConnection.contains(name) && !name.hasPrefix("access-control-")
        }
        self.init(
            status: answer.status, fields: fields.map { ResponseField($0.name, $0.value) },
            body: answer.body.isEmpty ? .empty : .bytes(answer.body))
        if status >= 400 { mark(problem: problemName) }
    }

    /// The name of its problem; nil if it has none.
    var problemName: String? {
        struct Problem: Decodable { var type: String }
        let type = fields.first { $0.name.lowercased() == "content-type" }?.value
        guard type == "application/problem+json", case .bytes(let body) = body,
            let problem = try? WireJSON.decode(Problem.self, from: body), problem.type.hasPrefix("/problems/")
        else { return nil }
        return String(problem.type.dropFirst("/problems/".count))
    }
}
