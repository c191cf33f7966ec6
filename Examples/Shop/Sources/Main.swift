import JWTAuthentication
import MVIServer

/// The program with the settings of the server, those of JWTs, and three of its own.
@main
struct Main: FeatureServerCommand {
    static let name = "shop"
    static let summary = "Serve a shop: catalogue, carts, orders, offers."

    var jwt = JWTSettings()
    @Setting("payment-secret", .secret, "The secret that the payment provider signs its events with.")
    var paymentSecret = ""
    @Setting(
        "reservation", .time(.seconds(1) ... .seconds(86_400)), "The time to pay an order.")
    var reservation: Duration = .seconds(600)
    @Setting("development", .flag, "NOT FOR PRODUCTION: anybody can sign in as anybody, and pay without money.")
    var isForDevelopment = false

    func server(_ start: ServerStart) async throws -> FeatureServer {
        guard !paymentSecret.isEmpty || !start.isServing else {
            throw SettingError(
                name: "payment-secret", given: "", expected: "the secret of the payment provider",
                prefix: Self.environmentPrefix)
        }
        let logger = start.logger
        var shop = Shop(paymentSecret: paymentSecret)
        shop.reservation = reservation
        if isForDevelopment, let issuer = jwt.issuer, let audience = jwt.audiences.first, let secret = jwt.secret {
            logger.warning("NOT FOR PRODUCTION: anybody can sign in as anybody, and pay without money")
            shop.development = Development(issuer: issuer, audience: audience, secret: secret.bytes)
        }
        let analytics = Analytics { entry in
            logger.info("\(entry.who ?? "somebody"): \(entry.feature) \(entry.what)")
        }
        let authenticator = start.isServing ? try await jwt.authenticator(logger: logger) : nil
        return FeatureServer(middleware: [analytics], page: Shop.page, authenticator: authenticator) { sessions in
            shop.content(sessions)
        }
    }
}
