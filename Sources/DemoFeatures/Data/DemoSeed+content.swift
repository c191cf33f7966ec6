extension DemoSeed {
    struct VideoSeed {
        let title: String
        let speaker: String
        let conference: String
        let seconds: Int
        let slug: String
        let views: Int

        init(
            _ title: String, _ speaker: String, _ conference: String, _ seconds: Int, _ slug: String, views: Int
        ) {
            self.title = title
            self.speaker = speaker
            self.conference = conference
            self.seconds = seconds
            self.slug = slug
            self.views = views
        }
    }

    static let videos = [
        VideoSeed(
            "Unidirectional data flow without tears", "Marta Kowalczyk", "Server-Side Days 2025", 2_322,
            "unidirectional-data-flow", views: 4_812),
        VideoSeed(
            "State machines you can read aloud", "Jonas Lindqvist", "Server-Side Days 2025", 1_764,
            "state-machines-aloud", views: 3_107),
        VideoSeed(
            "Server-sent events, the forgotten half of HTTP", "Priya Raghavan", "Web Plumbers 2025", 2_645,
            "server-sent-events", views: 6_240),
        VideoSeed(
            "What a transaction promises you", "Tomás Herrera", "Data & Coffee 2024", 3_018,
            "what-a-transaction-promises", views: 2_951),
        VideoSeed(
            "Ownership for people in a hurry", "Ingrid Solberg", "Swift on the Fjord 2025", 1_956,
            "ownership-in-a-hurry", views: 2_233),
        VideoSeed(
            "Measuring latency, and lying to yourself", "Kwame Mensah", "Load Fest 2024", 2_208,
            "measuring-latency", views: 5_316),
        VideoSeed(
            "A reducer is a fold: testing screens without a screen", "Lucie Fontaine", "Swift on the Fjord 2025",
            2_480, "a-reducer-is-a-fold", views: 1_874),
        VideoSeed(
            "Graceful shutdown is a feature", "Oleksandr Bondar", "Web Plumbers 2025", 1_513,
            "graceful-shutdown", views: 1_402),
        VideoSeed(
            "SQLite in production: the long way round", "Hana Yoshida", "Data & Coffee 2024", 3_742,
            "sqlite-in-production", views: 7_098),
        VideoSeed(
            "One codebase, four platforms, no regrets?", "Rafael Duarte", "Mobile Matters 2024", 2_867,
            "four-platforms", views: 3_660),
        VideoSeed(
            "Accessible by default", "Niamh Gallagher", "Mobile Matters 2024", 1_698, "accessible-by-default",
            views: 2_540),
        VideoSeed(
            "Idempotency keys in anger", "Deniz Aydın", "Web Plumbers 2025", 2_051, "idempotency-keys",
            views: 1_988),
        VideoSeed(
            "The network is not your friend", "Saara Nieminen", "Load Fest 2024", 2_394,
            "network-is-not-your-friend", views: 4_125),
        VideoSeed(
            "Closing panel: what we would delete", "Marta Kowalczyk and guests", "Server-Side Days 2025", 4_260,
            "what-we-would-delete", views: 956),
    ]

    static let venues = [
        Venue(
            name: "Ribera Padel Club", address: "Carrer de la Marina 112, Barcelona", latitude: 41.3986,
            longitude: 2.1915),
        Venue(
            name: "Canal Court", address: "Westerkade 19, Amsterdam", latitude: 52.3712, longitude: 4.8764),
        Venue(
            name: "Halle am Park", address: "Parkallee 48, Hamburg", latitude: 53.5802, longitude: 9.9905),
    ]

    struct LessonSeed {
        let id: String
        let title: String
        let coach: String
        let level: String
        let inDays: Int
        let minuteOfDay: Int
        let minutes: Int
        let cents: Int
        let venue: Int
        let freePlaces: Int
    }

    static let lessons = [
        LessonSeed(
            id: "7", title: "Padel for beginners", coach: "Elena Marín", level: "Beginner", inDays: 3,
            minuteOfDay: 1_110, minutes: 90, cents: 2_400, venue: 1, freePlaces: 2),
        LessonSeed(
            id: "8", title: "Serve and volley", coach: "Bram de Wit", level: "Intermediate", inDays: 5,
            minuteOfDay: 570, minutes: 60, cents: 3_150, venue: 2, freePlaces: 1),
        LessonSeed(
            id: "9", title: "Doubles tactics", coach: "Anneke Vogt", level: "Advanced", inDays: 8,
            minuteOfDay: 1_200, minutes: 75, cents: 2_900, venue: 3, freePlaces: 4),
        LessonSeed(
            id: "10", title: "Saturday clinic", coach: "Elena Marín", level: "All levels", inDays: 13,
            minuteOfDay: 660, minutes: 120, cents: 3_800, venue: 1, freePlaces: 6),
    ]

    struct OrderSeed {
        let id: String
        let status: OrderStatus
        let customer: String
        let phone: String
        let address: String
        let subject: String
        let notes: String?
        let inDays: Int
        let fromHour: Int
        let technician: String?
        let fee: [(text: String, cents: Int)]
    }

    static let orders = [
        OrderSeed(
            id: "42", status: .received, customer: "Café Morgenrot", phone: "+49 30 5550 0142",
            address: "Kastanienweg 8, Berlin", subject: "Espresso machine loses pressure",
            notes: "Ring at the side door before 9.", inDays: 1, fromHour: 8, technician: nil,
            fee: [("Call-out", 4_900), ("Group head gasket", 1_850), ("Labor, 1 h", 7_200)]),
        OrderSeed(
            id: "43", status: .accepted, customer: "Familie Brandt", phone: "+49 30 5550 0143",
            address: "Lindenhof 21, Potsdam", subject: "Heat pump, yearly service", notes: nil, inDays: 2,
            fromHour: 10, technician: "Yusuf Demir",
            fee: [("Service package", 18_900), ("Loyalty discount", -1_500)]),
        OrderSeed(
            id: "44", status: .onSite, customer: "Buchladen Anders", phone: "+49 30 5550 0144",
            address: "Am Markt 3, Berlin", subject: "Door opener stuck",
            notes: "Customers use the back entrance meanwhile.", inDays: 0, fromHour: 13,
            technician: "Katrin Wolff", fee: [("Call-out", 4_900), ("Labor, 2 h", 14_400)]),
        OrderSeed(
            id: "45", status: .done, customer: "Hotel Zur Brücke", phone: "+49 30 5550 0145",
            address: "Uferstraße 77, Berlin", subject: "Two lifts, safety inspection", notes: nil, inDays: 4,
            fromHour: 7, technician: "Yusuf Demir",
            fee: [("Inspection, 2 lifts", 52_000), ("Certificate", 3_500), ("Travel", 1_980)]),
    ]

    struct UserSeed {
        let name: String
        let email: String
        let phone: String?
        let city: String
        let plan: String
        let joinedAt: String
    }

    /// The first one is signed in.
    static let users = [
        UserSeed(
            name: "Ada Bergström", email: "ada@example.org", phone: "+46 8 5550 0101", city: "Göteborg",
            plan: "Team", joinedAt: "2021-03-18 09:12"),
        UserSeed(
            name: "Felipe Nogueira", email: "felipe@example.org", phone: nil, city: "Porto", plan: "Solo",
            joinedAt: "2023-10-02 16:40"),
    ]
}
