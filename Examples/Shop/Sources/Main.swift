import Configuration
import JWTAuthentication
import Logging
import MVIServer

@main
struct Main {
    /// Serves the shop. Its settings are the server's and those of JWTs (`MVI_…`), and `SHOP_PAYMENT_SECRET`,
    /// `SHOP_RESERVATION_SECONDS` and `SHOP_DEVELOPMENT`.
    static func main() async throws {
        let logger = Logger(label: "shop")
        let variables = ConfigReader(provider: EnvironmentVariablesProvider())
        let settings = try await ServerSettings.load(others: JWTSettings.names)
        let jwt = try await JWTSettings.load()
        var shop = Shop(paymentSecret: try variables.requiredString(forKey: "shop.payment.secret", isSecret: true))
        shop.reservation = .seconds(variables.int(forKey: "shop.reservation.seconds", default: 600))
        if variables.bool(forKey: "shop.development", default: false), let jwt, let issuer = jwt.issuer,
            let secret = variables.string(forKey: "mvi.jwt.secret", isSecret: true)
        {
            logger.warning("NOT FOR PRODUCTION: anybody can sign in as anybody, and pay without money")
            shop.development = Development(issuer: issuer, audience: jwt.audiences[0], secret: secret)
        }
        let analytics = Analytics { entry in
            logger.info("\(entry.who ?? "somebody"): \(entry.feature) \(entry.what)")
        }
        var authenticator: JWTAuthenticator?
        if let jwt { authenticator = try await JWTAuthenticator(jwt, logger: logger) }
        try await FeatureServer(
            settings: settings, logger: logger, middleware: [analytics], page: Shop.page, authenticator: authenticator
        ) { sessions in
            shop.content(sessions)
        }.run(arguments: Array(CommandLine.arguments.dropFirst()))
    }
}
