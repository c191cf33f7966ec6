import WireJSON

/// One line of the kit's.
struct Command: Decodable {
    let `do`: String
    var url: String?
    var features: [String]?
    var credential: String?
    var delta: String?
    var locale: String?
    var timeZone: String?
    var identities: [String]?
    /// Seconds.
    var patience: Double?
    /// Keeps the credential and waiting intents.
    var folder: String?
    var feature: String?
    /// False if they wait for a reader.
    var labels: Bool?
    var intent: JSONText?
    var tag: String?
}
