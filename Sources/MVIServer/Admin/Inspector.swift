import CResources
import Networks

/// The form in which the inspector, and the list of a session's turns, show recorded values.
public enum Inspector: String, CaseIterable, Sendable {
    /// The types of values instead of values.
    case shapes
    /// The values, which are private data of users.
    case values
}

extension ServerSettings {
    /// Makes a token for this run if the inspector is on, administrators have none, and only this machine can reach the
    /// admin port.
    mutating func makeInspectorToken() {
        guard inspector != nil, adminToken == nil, PeerAddress(adminHost).map(AdminGuard.isLoopback) == true else {
            return
        }
        inspectorToken = InspectorLink.secret()
        inspectorLink = InspectorLink(dataFolder: dataFolder)
    }
}

extension DocumentEndpoints {
    /// The inspector's page and its files, or 404 if it is off. They contain no data: the page asks for the admin token.
    static func inspector(isOn: Bool) -> [Route] {
        let files = [
            ("adminReadInspector", "", "text/html", cresources_inspector_html()),
            ("adminReadInspectorStyle", "/inspector.css", "text/css", cresources_inspector_css()),
            ("adminReadInspectorScript", "/inspector.js", "text/javascript", cresources_inspector_js()),
        ]
        return files.map { name, path, type, file in
            let contentType = "\(type); charset=utf-8"
            let document =
                isOn
                ? Document(bytes(of: file), contentType: contentType, extra: AnswerFields.security(of: contentType))
                : nil
            return Route(
                name, .get, "/admin/inspector\(path)",
                .everyone { incoming throws(Problem) in
                    guard let response = document?.response(incoming.fields) else { throw Inspector.isOff }
                    return { _, reply in reply.answer(response) }
                })
        }
    }
}

extension Inspector {
    static var isOff: Problem {
        Problem(.notFound, "The inspector is off. Start the server with `--inspector shapes` or `--inspector values`.")
    }
}
