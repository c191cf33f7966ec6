import MVI
import MVITesting
import Testing

@testable import wallet_1
@testable import wallet_2

@Suite("The wallet's migration")
struct MigrationTests {
    /// Returns an export of `mvi-server export` for a session with one wallet.
    private func export(version: Int, _ state: String) throws -> Fixture {
        try Fixture(
            Array(
                """
                {"format":"mvi-session/1","turns":[],
                 "stores":[{"feature":"wallet","schemaVersion":\(version),"version":3,"state":\(state)}]}
                """.utf8))
    }

    @Test(arguments: [(#"{"euros":12.5}"#, 1_250), (#"{"euros":0.29}"#, 29), (#"{"euros":0}"#, 0)])
    func `a state of version 1 is migrated to cents`(state: String, cents: Int) throws {
        let kept = try export(version: 1, state)
        let euros = try kept.state(of: wallet_1.Wallet()).euros
        #expect(Int((euros * 100).rounded()) == cents, "it is not a state of version 1")
        #expect(try kept.state(of: wallet_2.Wallet()) == wallet_2.Wallet.State(cents: cents, payments: 0))
    }

    @Test func `a state of version 2 without payments needs no migration`() throws {
        let kept = try export(version: 2, #"{"cents":1250}"#)
        #expect(try kept.state(of: wallet_2.Wallet()) == wallet_2.Wallet.State(cents: 1_250, payments: 0))
    }

    @Test func `every intent and label has an example`() {
        checkExamples(of: wallet_1.Wallet.self)
        checkExamples(of: wallet_2.Wallet.self)
    }

    @Test func `both versions take the same intents and publish the same labels`() async {
        let first = TestStore(wallet_1.Wallet())
        await first.send(.payIn(euros: 12.5))
        await first.receive(.payIn(euros: 12.5)) { $0.euros = 12.5 }
        await first.expect(.paidIn(euros: 12.5))
        await first.finish()
        let second = TestStore(wallet_2.Wallet())
        await second.send(.payIn(euros: 12.5))
        await second.receive(.payIn(euros: 12.5)) { ($0.cents, $0.payments) = (1_250, 1) }
        await second.expect(.paidIn(euros: 12.5))
        await second.finish()
    }
}
