/// What may be wrong with a request to the admin port.
extension ProblemType {
    static let adminUnauthorized = ProblemType(
        "admin-unauthorized", 401, "The admin token is needed",
        meaning: "The request to the admin port carries no admin token, or a wrong one.",
        remedy: "Send `Authorization: Bearer <token>` with the token that the server was started with "
            + "(`--admin-token`).")

    static let adminClosed = ProblemType(
        "admin-closed", 403, "The admin port answers this machine only",
        meaning: "The server has no admin token. Then its admin port answers nothing but health, unless it listens on "
            + "a loopback address: there it answers programs on the same machine, asked as localhost, and no proxy.",
        remedy: "Start the server with `--admin-token`, or ask on the machine itself.")

    static let adminSessionNotFound = ProblemType(
        "admin-session-not-found", 404, "There is no such session",
        meaning: "No session that is kept has this id. One in which nothing has happened yet is known by its id only "
            + "to the server that has it in memory.",
        remedy: "Look for it in `GET /admin/sessions`.")
}
