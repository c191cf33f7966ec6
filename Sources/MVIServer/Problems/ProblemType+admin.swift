import Sessions

/// Problem types of the admin port.
extension ProblemType {
    static let ofAdmin = [
        adminUnauthorized, adminClosed, adminSessionNotFound,
    ]

    static let adminUnauthorized = ProblemType(
        "admin-unauthorized", 401, "The admin token is needed",
        meaning: "The request to the admin port carries no admin token, or a wrong one.",
        remedy: "Send `Authorization: Bearer <token>` with the token that the server was started with "
            + "(`--admin-token`).")

    static let adminClosed = ProblemType(
        "admin-closed", 403, "The server has no admin token",
        meaning: "Without an admin token, the admin port answers health checks. On a loopback address it also answers "
            + "metrics for programs on the same machine, but not through a proxy. It neither shows nor changes "
            + "sessions.",
        remedy: "Make a token with `openssl rand -base64 32`, start the server with it as `MVI_ADMIN_TOKEN`, and send "
            + "`Authorization: Bearer <token>`.")

    static let adminSessionNotFound = ProblemType(
        "admin-session-not-found", 404, "There is no such session",
        meaning: "No stored session has this id. A session in which nothing has happened yet is known only to the "
            + "server that has it in memory.",
        remedy: "Look for the session in `GET /admin/sessions`.")
}
