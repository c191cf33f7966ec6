import Testing

@testable import MVIServer

@Suite("openapi-admin.yaml and the admin port say the same")
struct AdminOpenAPITests {
    @Test func `neither has an operation that the other lacks`() async throws {
        try await AdminPort.run { port async throws in
            let application = try #require(port.server.assembly.adminApplication)
            var served: [String: String] = [:]
            for route in application.router.endpoints {
                served["\(route.method.rawValue) \(route.path)"] = route.name
            }
            #expect(try AdminContract.get().operations.mapValues(\.id) == served)
        }
    }

    @Test func `its problems are there`() throws {
        let contract = try AdminContract.get()
        let names = Set(ProblemType.all.map(\.name))
        #expect(contract.everywhere.isSubset(of: names))
        for operation in contract.operations.values { #expect(operation.problems.isSubset(of: names)) }
    }
}
