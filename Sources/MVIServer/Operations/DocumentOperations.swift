import CResources
import MicroHTTP

/// `/openapi.yaml`, the page and its files, and what the problems mean.
struct DocumentOperations: Sendable {
    private let openAPI: Document
    private let files: [String: Document]

    init(_ page: [PageResource]) {
        openAPI = Document(Self.openAPIBytes, contentType: "application/yaml; charset=utf-8")
        files = Dictionary(
            page.map { file in
                let isPage = file.contentType.hasPrefix("text/html")
                return (
                    file.path,
                    Document(file.bytes, contentType: file.contentType, extra: isPage ? Self.pageSecurity : [])
                )
            }, uniquingKeysWith: { first, _ in first })
    }

    func readOpenAPI(_ incoming: Incoming, _ reply: Reply) { reply.answer(openAPI.response(incoming.fields)) }

    /// The page's paths are routes, so the file is there.
    func readFile(_ incoming: Incoming) throws(Problem) -> Call.Answer {
        guard let file = files[String(decoding: incoming.head.path, as: UTF8.self)] else {
            throw Problem(.notFound, "There is no file at this path.")
        }
        return { _, reply in reply.answer(file.response(incoming.fields)) }
    }

    func explain(_ incoming: Incoming) throws(Problem) -> Call.Answer {
        guard let name = incoming.parameterText, let type = ProblemType.all.first(where: { $0.name == name }) else {
            throw Problem(.notFound, "There is no problem type of that name.")
        }
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

    /// What a page may load and where it may send: its own server. It is shown in no frame, and tells no other site
    /// where a reader comes from.
    private static let pageSecurity: [ResponseField] = [
        ResponseField(
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        ResponseField("Referrer-Policy", "no-referrer"),
    ]

    /// A copy of what is in the program's read-only data, where it stays as long as the process.
    private static let openAPIBytes: [UInt8] = {
        let file = cresources_openapi_yaml()
        return Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
    }()
}

extension ProblemType {
    /// What `/problems/<name>` shows.
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
