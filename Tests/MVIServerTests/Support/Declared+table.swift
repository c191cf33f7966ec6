@testable import MVIServer

extension Declared {
    /// Every operation of the contract (`docs/http.md`, Resources): `HEAD` wherever there is `GET`, `OPTIONS` for every path.
    static let table: [Declared] = declared + declared.compactMap(\.forHead) + options

    private static let sessionGone: [ProblemType] =
        [.unauthorized, .sessionNotFound, .sessionEnded, .otherSession, .tooManyRequests, .tooManySessions] + notKept
    /// What stands between a session and whoever is signed in.
    private static let notSignedIn: [ProblemType] = [.identityRejected, .identityExpired, .identityRequired]
    /// A session, or a store, cannot be read or written now.
    private static let notKept: [ProblemType] = [.journalUnavailable, .storageFull]
    private static let whoAsks = ["Sec-Fetch-Site", "Cookie"]
    private static let ofCaller = whoAsks + ["MVI-Session"]
    private static let ofSession = ["Set-Cookie", "WWW-Authenticate", "Retry-After", "RateLimit", "RateLimit-Policy"]
    private static let streaming = Declared(
        method: .get, path: "/events", operation: .streamSession, hasSession: true,
        query: ["feature", "delta", "last_event_id"],
        requestFields: ofCaller + ["Accept", "Last-Event-ID", "Prefer", "Sec-Fetch-Mode"],
        successes: [200, 204],
        // A session that has ended is no problem of a stream: it gets 204.
        problems: [
            .badRequest, .unauthorized, .sessionNotFound, .otherSession, .crossSite, .forbidden, .featureNotFound,
            .notAcceptable, .tooManyRequests,
            .tooManyStores, .stateUnavailable, .tooManyStreams, .tooManyConnections, .tooManySessions, .draining,
            .ownerUnreachable, .newerState,
        ] + notSignedIn + notKept,
        responseFields: ofSession + ["Content-Type", "X-Accel-Buffering", "Connection", "Preference-Applied"])

    private static let declared: [Declared] = [
        Declared(
            method: .post, path: "/sessions", operation: .createSession,
            requestFields: whoAsks + ["Content-Type", "Content-Encoding"],
            successes: [201, 200],
            problems: [
                .invalidJSON, .badRequest, .crossSite, .bodyTooLarge, .unsupportedMediaType, .draining,
                .tooManySessions, .tooManyRequests, .identityUnavailable,
            ] + notSignedIn + notKept,
            responseFields: ofSession + ["Content-Type", "Location"]),
        Declared(
            method: .get, path: "/sessions/current", operation: .describeSession, hasSession: true,
            requestFields: ofCaller, successes: [200], problems: sessionGone + notSignedIn,
            responseFields: ofSession + ["Content-Type"]),
        // An identity that has expired can be renewed, and its session ended.
        Declared(
            method: .delete, path: "/sessions/current", operation: .endSession, hasSession: true, query: ["everywhere"],
            requestFields: ofCaller, successes: [204], problems: sessionGone + [.identityRejected, .crossSite],
            responseFields: ofSession),
        Declared(
            method: .put, path: "/sessions/current/identity", operation: .signIn, hasSession: true,
            requestFields: ofCaller + ["Content-Type", "Content-Encoding"], successes: [200],
            problems: sessionGone + [
                .invalidJSON, .badRequest, .identityRejected, .identityExpired, .crossSite, .otherIdentity,
                .bodyTooLarge, .unsupportedMediaType, .identityUnavailable,
            ],
            responseFields: ofSession + ["Content-Type"]),
        Declared(
            method: .delete, path: "/sessions/current/identity", operation: .signOut, hasSession: true,
            query: ["everywhere"], requestFields: ofCaller, successes: [204],
            problems: sessionGone + [.identityRejected, .crossSite],
            responseFields: ofSession),
        Declared(
            method: .get, path: "/features", operation: .listFeatures, requestFields: ["Cookie"], successes: [200],
            responseFields: ["Content-Type"]),
        Declared(
            method: .get, path: "/features/{name}", operation: .describeFeature, successes: [200],
            problems: [.featureNotFound], responseFields: ["Content-Type"]),
        Declared(
            method: .get, path: "/features/{id}/state", operation: .readState, hasSession: true,
            requestFields: ofCaller + ["If-None-Match", "Prefer"], successes: [200, 304],
            problems: sessionGone + notSignedIn + [
                .crossSite, .forbidden, .featureNotFound, .tooManyStores, .tooManyWaits, .stateUnavailable,
                .ownerUnreachable, .newerState,
            ],
            responseFields: ofSession + ["Content-Type", "ETag", "Preference-Applied"]),
        Declared(
            method: .delete, path: "/features/{id}/state", operation: .disposeStore, hasSession: true,
            requestFields: ofCaller, successes: [204],
            problems: sessionGone + notSignedIn + [
                .crossSite, .forbidden, .featureNotFound, .ownerUnreachable,
            ],
            responseFields: ofSession),
        Declared(
            method: .post, path: "/features/{id}/intents", operation: .sendIntent, hasSession: true,
            requestFields: ofCaller + [
                "Content-Type", "Content-Encoding", "Idempotency-Key", "Intent-Seq", "Intent-Epoch", "If-Match",
                "Prefer",
            ],
            successes: [202, 200, 204],
            problems: sessionGone + notSignedIn + [
                .badRequest, .invalidJSON, .crossSite, .forbidden, .featureNotFound, .targetNotFound, .intentInProgress,
                .outOfSequence, .receiptExpired, .intentConflict, .storeDisposed, .preconditionFailed, .bodyTooLarge,
                .unsupportedMediaType, .invalidIntent,
                .idempotencyKeyReused, .intentRefused, .tooManyStores, .tooManyReceipts,
                .intentFailed, .stateUnavailable, .busy, .draining, .ownerUnreachable, .newerState,
                .checkTimeout, .stateTooLarge,
            ],
            responseFields: ofSession + [
                "Content-Type", "ETag", "Preference-Applied", "Idempotency-Replayed", "Expected-Seq",
            ]),
        Declared(
            method: .get, path: "/features/{id}/events", operation: .streamFeature, hasSession: true,
            query: ["delta", "last_event_id"], requestFields: streaming.requestFields, successes: streaming.successes,
            problems: streaming.problems, responseFields: streaming.responseFields),
        streaming,
        Declared(
            method: .get, path: "/health/live", operation: .reportLiveness, successes: [200],
            responseFields: ["Content-Type"]),
        Declared(
            method: .get, path: "/health/ready", operation: .reportReadiness, successes: [200],
            problems: [.draining, .notReady], responseFields: ["Content-Type", "Retry-After"]),
        Declared(
            method: .get, path: "/diagnostics/request", operation: .describeRequest, successes: [200],
            responseFields: ["Content-Type"]),
        Declared(
            method: .get, path: "/openapi.yaml", operation: .readOpenAPI, requestFields: ["If-None-Match"],
            successes: [200, 304], responseFields: ["Content-Type", "ETag"]),
        Declared(
            method: .get, path: "/mvi-client.js", operation: .readClient, requestFields: ["If-None-Match"],
            successes: [200, 304], responseFields: ["Content-Type", "ETag"]),
        Declared(
            method: .get, path: "/problems/{name}", operation: .explainProblem, successes: [200],
            problems: [.notFound], responseFields: ["Content-Type"]),
        Declared(
            method: .get, path: "/", operation: .readPage, requestFields: ["If-None-Match"], successes: [200, 304],
            problems: [.notFound],
            responseFields: ["Content-Type", "ETag", "Content-Security-Policy", "Referrer-Policy"]),
        Declared(
            method: .get, path: "/{file}", operation: .readFile, requestFields: ["If-None-Match"],
            successes: [200, 304], problems: [.notFound],
            responseFields: ["Content-Type", "ETag", "Content-Security-Policy", "Referrer-Policy"]),
    ]

    /// The same with `HEAD`, which makes no store, takes no stream's place and does not wait.
    private var forHead: Declared? {
        guard method == .get else { return nil }
        let isStream = operation == .streamFeature || operation == .streamSession
        let isState = operation == .readState
        let needsPlace: Set<ProblemType> = [
            .tooManyStores, .tooManyStreams, .tooManyConnections, .tooManyWaits, .ownerUnreachable, .newerState,
        ]
        let ofWaiting: Set<String> = ["Prefer", "Preference-Applied", "Last-Event-ID"]
        var head = self
        head.method = .head
        if isStream || isState {
            head.problems.removeAll { needsPlace.contains($0) || (isStream && $0 == .draining) }
            head.requestFields.removeAll { ofWaiting.contains($0) }
            head.responseFields.removeAll { ofWaiting.contains($0) }
            head.query.removeAll { $0 == "last_event_id" }
        }
        return head
    }

    /// What `OPTIONS` of a path is refused with that names nothing. Files are there or not as the page has them.
    private static func ofNothing(_ path: String) -> [ProblemType] {
        if path.hasPrefix("/features/{") { return [.featureNotFound] }
        return ["/problems/{name}", "/", "/{file}"].contains(path) ? [.notFound] : []
    }

    private static let options: [Declared] = {
        var seen: Set<String> = []
        return declared.map(\.path).filter { seen.insert($0).inserted }.map { path in
            Declared(
                method: .options, path: path, operation: .describeOptions,
                requestFields: ["Access-Control-Request-Method", "Access-Control-Request-Headers"],
                successes: [204], problems: ofNothing(path),
                responseFields: [
                    "Allow", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers",
                    "Access-Control-Max-Age",
                ])
        }
    }()
}
