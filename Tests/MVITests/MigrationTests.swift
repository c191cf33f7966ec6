import MVI
import Testing

struct MigrationTests {
    struct Total: Feature {
        struct State: Codable, Equatable, Sendable { var total = 0 }
        enum Intent: Codable, Sendable { case go }
        struct First: Decodable { var count: Int }

        static let examples: [Intent] = [.go]
        static let schemaVersion = 2
        static let migrations = [
            Migration(from: 1, First.self) { first throws in
                if first.count < 0 { throw Broken() }
                return State(total: first.count)
            }
        ]
        let initialState = State()
        func reduce(_ state: inout State, _ intent: Intent) {}
    }

    /// Stands for whatever a state was stored in.
    struct Reader: StateReader {
        let value: any Sendable

        func read<T: Decodable>(_ type: T.Type) throws -> T {
            guard let value = value as? T else { throw Broken() }
            return value
        }
    }

    @Test("51: a migration reads the old type and makes the present state; what it or the reader throws comes through")
    func migrate() throws {
        let migration = try #require(Total.migrations.first)
        #expect(migration.from == 1)
        #expect(try migration.migrate(Reader(value: Total.First(count: 7))) == Total.State(total: 7))
        #expect(throws: Broken.self) { try migration.migrate(Reader(value: Total.First(count: -1))) }
        #expect(throws: Broken.self) { try migration.migrate(Reader(value: "something else")) }
    }

    @Test("51: a feature without migrations has schema version 1")
    func defaults() {
        #expect(Counter.schemaVersion == 1)
        #expect(Counter.migrations.isEmpty)
        #expect(Migration.fault(of: Counter.self) == nil)
        #expect(Migration.fault(of: Total.self) == nil)
    }

    @Test("51: migrations that cannot be right are told in a sentence")
    func faults() {
        #expect(
            Migration.fault(of: Twice.self)
                == "The feature \"twice\" has two migrations from schema version 1; each version has one way to the "
                + "present.")
        #expect(
            Migration.fault(of: Late.self)
                == "The feature \"late\" has a migration from schema version 2; migrations are from older versions than "
                + "its own, which is 2, and the first version is 1.")
        #expect(
            Migration.fault(of: Zero.self)
                == "The feature \"zero\" has the schema version 0; the first version is 1.")
    }
}

private protocol Bare: Feature where State == Int, Intent == String {}

extension Bare {
    static var examples: [String] { ["go"] }
    var initialState: Int { 0 }
    func reduce(_ state: inout Int, _ message: String) {}
}

private struct Twice: Bare {
    static let schemaVersion = 3
    static let migrations = [
        Migration(from: 1, String.self) { $0.count }, Migration(from: 2, Int.self) { $0 },
        Migration(from: 1, Int.self) { $0 },
    ]
}

private struct Late: Bare {
    static let schemaVersion = 2
    static let migrations = [Migration(from: 2, Int.self) { $0 }]
}

private struct Zero: Bare {
    static let schemaVersion = 0
}
