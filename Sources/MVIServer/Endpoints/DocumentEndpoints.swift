import CResources
import MicroHTTP

/// `/openapi.yaml`, the JavaScript client, the page and its files, and the problem pages.
enum DocumentEndpoints {
    /// - Parameter endpoints: the custom endpoints, which the description lists.
    static func own(_ endpoints: [Endpoint]) -> [Route] {
        let openAPI = Document(
            OpenAPI.document(bytes(of: cresources_openapi_yaml()), with: endpoints),
            contentType: "application/yaml; charset=utf-8")
        let client = Document(
            bytes(of: cresources_mvi_client_js()), contentType: "text/javascript; charset=utf-8")
        return [
            Route("readOpenAPI", "/openapi.yaml") { openAPI.response($0.fields) },
            Route("readClient", "/mvi-client.js") { client.response($0.fields) }, problems,
        ]
    }

    /// The documents of the admin port.
    static func admin() -> [Route] {
        let openAPI = Document(
            bytes(of: cresources_openapi_admin_yaml()), contentType: "application/yaml; charset=utf-8")
        return [Route("adminReadOpenAPI", "/admin/openapi.yaml") { openAPI.response($0.fields) }, problems]
    }

    private static var problems: Route {
        Route(
            "explainProblem", .get, "/problems/{name}",
            checkPath: { incoming throws(Problem) in _ = try problemType(incoming) },
            .everyone(explain))
    }

    static func ofPage(_ page: [PageResource]) -> [Route] {
        page.map { file in
            let document = Document(
                file.bytes, contentType: file.contentType, extra: AnswerFields.security(of: file.contentType))
            return Route(file.path == "/" ? "readPage" : "readFile", file.path) { document.response($0.fields) }
        }
    }

    private static func problemType(_ incoming: Incoming) throws(Problem) -> ProblemType {
        guard let name = incoming.parameterText, let type = ProblemType.all.first(where: { $0.name == name }) else {
            throw Problem(.notFound, "Unknown problem type.")
        }
        return type
    }

    @Sendable
    private static func explain(_ incoming: Incoming) throws(Problem) -> Route.Answer {
        let type = try problemType(incoming)
        return { _, reply in
            reply.answer(
                Response(
                    status: 200,
                    fields: [
                        ResponseField("Content-Type", "text/plain; charset=utf-8"),
                        ResponseField("Cache-Control", "no-cache"), AnswerFields.noSniff,
                    ], body: .bytes(Array(type.page.utf8))))
        }
    }

    /// The repository's file.
    static var openAPIText: String { String(decoding: bytes(of: cresources_openapi_yaml()), as: UTF8.self) }

    /// Copies a file from the program's read-only data.
    static func bytes(of file: cresources_file) -> [UInt8] {
        Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
    }
}

extension ProblemType {
    /// The page `/problems/<name>`.
    var page: String {
        """
        \(title)

        type: \(reference)
        status: \(status)

        What it means
        \(meaning)

        What to do
        \(remedy)

        """
    }
}

/// Constant bytes with their entity tag.
struct Document: Sendable {
    private let bytes: [UInt8]
    private let tag: String
    private let fields: [ResponseField]

    init(_ bytes: [UInt8], contentType: String, extra: [ResponseField] = []) {
        self.bytes = bytes
        tag = Self.hash(bytes)
        fields =
            [
                ResponseField("Content-Type", contentType), ResponseField("Cache-Control", "no-cache"),
                ResponseField("ETag", "\"\(tag)\""), AnswerFields.noSniff,
            ] + extra
    }

    func response(_ request: HeaderFields) -> Response {
        let known = try? EntityTags.read("if-none-match", of: request)?.get()
        return Response(
            status: known?.matchesWeakly(tag) == true ? 304 : 200, fields: fields, body: .bytes(bytes))
    }

    /// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/). Distinguishes versions of a file; not secure
    /// against collisions on purpose.
    private static func hash(_ bytes: [UInt8]) -> String {
        let hash = bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return String(hash, radix: 36)
    }
}
