import Sessions

/// The problems of requests to the admin port.
extension ProblemType {
    /// All of them.
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
        meaning: "Without an admin token the admin port answers health checks, and on a loopback address metrics for "
            + "programs on the same machine that no proxy passed on. It shows and changes no session.",
        remedy: "Make a token with `openssl rand -base64 32`, start the server with it as `MVI_ADMIN_TOKEN`, and send "
            + "`Authorization: Bearer <token>`.")

    static let adminSessionNotFound = ProblemType(
        "admin-session-not-found", 404, "There is no such session",
        meaning: "No session that is kept has this id. One in which nothing has happened yet is known by its id only "
            + "to the server that has it in memory.",
        remedy: "Look for it in `GET /admin/sessions`.")
}
