import MicroHTTP
import MVI
import Schema
import Sessions
import WireJSON

/// `/features` and `/features/{name}`: the server's features, described once at the start.
struct FeatureEndpoints: Sendable {
    private let features: FeatureRegistry
    private let identity: IdentityRule
    private let crossSite: CrossSiteRule
    private let list: [UInt8]
    private let descriptions: [String: [UInt8]]

    init(_ features: FeatureRegistry, _ identity: IdentityRule, _ crossSite: CrossSiteRule) {
        (self.features, self.identity, self.crossSite) = (features, identity, crossSite)
        list = Self.list(features.definitions)
        descriptions = Dictionary(
            uniqueKeysWithValues: features.definitions.map { ($0.name, Self.description($0)) })
    }

    var all: [Route] {
        [
            Route(
                "listFeatures", .get, "/features",
                refusalsVary: features.ruled.isEmpty ? nil : AnswerFields.sessionVary, .everyone(listAll)),
            Route(
                "describeFeature", .get, "/features/{name}",
                checkPath: { incoming throws(Problem) in _ = try description(incoming) }, .everyone(describe)),
        ]
    }

    private static func list(_ definitions: [FeatureDefinition]) -> [UInt8] {
        var object = JSONObject()
        object.add(
            "features",
            array: definitions.map { definition in
                var summary = Self.summary(definition)
                return summary.close()
            })
        return object.close()
    }

    /// Lists every feature, or with access rules those that the caller may use.
    @Sendable
    private func listAll(_ incoming: Incoming) throws(Problem) -> Route.Answer {
        guard !features.ruled.isEmpty else {
            return { [list] _, reply in
                reply.answer(Response(status: 200, fields: AnswerFields.publicJSON, body: .bytes(list)))
            }
        }
        let credential = identity.credentials.token(incoming.fields)
        if credential?.isByCookie == true { try crossSite.check(incoming.fields) }
        let token = credential?.token
        return { _, reply in
            guard let token else { return reply.answer(list(for: nil)) }
            do throws(Problem) {
                try identity.credentials.find(token, incoming.head) { found in
                    var principal: Principal?
                    if case .live(_, let credential?) = found, !credential.isRevoked,
                        identity.mayUse(credential, incoming.head)
                    {
                        principal = credential.principal
                    }
                    reply.answer(list(for: principal))
                }
            } catch {
                // The list is public: an address that has asked too often gets the list of an anonymous caller.
                reply.answer(list(for: nil))
            }
        }
    }

    private func list(for principal: Principal?) -> Response {
        let now = Timestamp(sinceEpoch: identity.credentials.sessions.environment.time.sinceEpoch())
        let principal = principal?.hasExpired(at: now) == true ? nil : principal
        return Response(
            status: 200, fields: AnswerFields.session,
            body: .bytes(Self.list(features.definitions.filter { $0.allows(principal, .read) })))
    }

    private func description(_ incoming: Incoming) throws(Problem) -> [UInt8] {
        guard let name = incoming.parameterText, let description = descriptions[name] else {
            throw Problem(.featureNotFound, "Unknown feature; `GET /features` lists all features.")
        }
        return description
    }

    @Sendable
    private func describe(_ incoming: Incoming) throws(Problem) -> Route.Answer {
        let description = try description(incoming)
        return { _, reply in
            reply.answer(Response(status: 200, fields: AnswerFields.publicJSON, body: .bytes(description)))
        }
    }

    private static func summary(_ feature: FeatureDefinition) -> JSONObject {
        var object = JSONObject()
        object.add("id", feature.name)
        object.add("summary", feature.summary)
        object.add("keyed", feature.isKeyed)
        if feature.spaces != nil { object.add("shared", true) }
        if !feature.exampleKeys.isEmpty {
            object.add("exampleKeys", array: feature.exampleKeys.map { [UInt8].json($0) })
        }
        // A URI template (RFC 6570) if the feature has keys.
        let instance = "/features/\(feature.name)" + (feature.isKeyed ? ":{key}" : "")
        var links = JSONObject()
        links.add("self", "/features/\(feature.name)")
        links.add("state", "\(instance)/state")
        links.add("intents", "\(instance)/intents")
        links.add("events", "\(instance)/events")
        object.add("links", json: links.close())
        return object
    }

    private static func description(_ feature: FeatureDefinition) -> [UInt8] {
        var object = summary(feature)
        object.add("intents", array: feature.intentExamples)
        object.add("labels", array: feature.labelExamples)
        if let state = feature.stateExample { object.add("state", json: state) }
        object.add("schema", json: JSONSchema(FeatureShape(feature)).document(maker: ServerVersion.maker).bytes())
        return object.close()
    }
}
