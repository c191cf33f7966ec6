import WireJSON

/// The description of the API with custom endpoints: their paths, methods and summaries. Their bodies are not
/// described.
enum OpenAPI {
    /// Returns the file with the endpoints; unchanged without endpoints.
    static func document(_ file: [UInt8], with endpoints: [Endpoint]) -> [UInt8] {
        guard !endpoints.isEmpty else { return file }
        var lines = String(decoding: file, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
        // Inserted at the end of `paths`, before the next member of the document.
        guard let start = lines.firstIndex(of: "paths:") else { return file }
        let end =
            lines[(start + 1)...].firstIndex { $0.first.map { $0 != " " && $0 != "#" } ?? false } ?? lines.endIndex
        var paths: [String] = []
        for endpoint in endpoints where !paths.contains(endpoint.path) { paths.append(endpoint.path) }
        let added = paths.flatMap { path in
            ["  \(quoted(path)):"] + endpoints.filter { $0.path == path }.flatMap { operation($0) }
        }
        lines.insert(contentsOf: added, at: end)
        return Array(lines.joined(separator: "\n").utf8)
    }

    private static func operation(_ endpoint: Endpoint) -> [String] {
        let summary = endpoint.summary.isEmpty ? "A custom endpoint." : endpoint.summary
        var lines = [
            "    \(endpoint.method.rawValue.lowercased()):",
            "      tags: [custom]",
            "      summary: \(quoted(summary))",
            "      security: []",
        ]
        if let name = parameter(endpoint.path) {
            lines += [
                "      parameters:",
                "        - { name: \(quoted(name)), in: path, required: true, schema: { type: string } }",
            ]
        }
        if endpoint.bodyLimit > 0 {
            lines += ["      requestBody:", "        content: { \"*/*\": {} }"]
        }
        return lines + [
            "      responses:", "        default: { description: \"Defined by the endpoint's author.\" }",
        ]
    }

    private static func parameter(_ path: String) -> String? {
        guard let open = path.firstIndex(of: "{"), let close = path.firstIndex(of: "}") else { return nil }
        return String(path[path.index(after: open)..<close])
    }

    /// JSON strings are valid YAML (YAML 1.2 section 1.3).
    private static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = []
        WireJSON.appendString(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
