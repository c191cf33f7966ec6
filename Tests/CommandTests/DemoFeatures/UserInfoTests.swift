import MVITesting
import Testing

@testable import DemoFeatures

@Suite struct UserInfoTests {
    @Test func `every intent and label has an example`() { checkExamples(of: UserInfo.self) }

    @Test func `the user is loaded as soon as the store starts`() async {
        let gate = Gate()
        let store = TestStore(
            UserInfo(
                users: StubUsers {
                    try await gate.wait()
                    return .sample
                }))
        await store.receive(.fetchStarted) { $0.progress = .loading }
        #expect(store.view == UserInfo.ViewState(status: .loading))
        gate.open()
        await store.receive(.fetched(.sample)) {
            $0.user = .sample
            $0.progress = .idle
        }
        #expect(
            store.view
                == UserInfo.ViewState(
                    status: .content,
                    profile: UserInfo.ViewState.Profile(
                        name: "Ada Bergström", initials: "AB", email: "ada@example.org", city: "Göteborg",
                        membership: "Team plan · member since March 2021")))
        await store.finish()
    }

    @Test func `a failure shows an error and a toast, and load tries again`() async {
        let answers = Sequenced<User>(.failure(StubFailure()), .success(.sample))
        let store = TestStore(UserInfo(users: StubUsers { try answers.next() }))
        await store.receive(.fetchStarted) { $0.progress = .loading }
        await store.receive(.fetchFailed) { $0.progress = .failed }
        await store.expect(.toast(text: "Your profile could not be loaded"))
        #expect(
            store.view
                == UserInfo.ViewState(status: .error, error: "Your profile could not be loaded. Try again."))
        await store.send(.load)
        await store.receive(.fetchStarted) { $0.progress = .loading }
        await store.receive(.fetched(.sample)) {
            $0.user = .sample
            $0.progress = .idle
        }
        await store.finish()
    }

    @Test func `load does nothing once the user is there, reload fetches again`() async {
        let store = TestStore(UserInfo(users: StubUsers { .sample }), state: UserInfo.State(user: .sample))
        await store.send(.load)
        await store.send(.reload)
        await store.receive(.fetchStarted) { $0.progress = .loading }
        await store.receive(.fetched(.sample)) { $0.progress = .idle }
        await store.finish()
    }

    @Test func `a reload that fails keeps the profile`() async {
        let store = TestStore(UserInfo(users: StubUsers()), state: UserInfo.State(user: .sample))
        await store.send(.reload)
        await store.receive(.fetchStarted) { $0.progress = .loading }
        await store.receive(.fetchFailed) { $0.progress = .failed }
        await store.expect(.toast(text: "Your profile could not be loaded"))
        #expect(store.view.status == .error)
        #expect(store.view.profile?.name == "Ada Bergström")
        await store.finish()
    }

    @Test func `a store saved while loading loads again, another one does not`() async {
        let loading = TestStore(
            UserInfo(users: StubUsers { .sample }), state: UserInfo.State(progress: .loading))
        await loading.receive(.fetchStarted)
        await loading.receive(.fetched(.sample)) {
            $0.user = .sample
            $0.progress = .idle
        }
        await loading.finish()

        let idle = TestStore(UserInfo(users: StubUsers()), state: UserInfo.State(user: .sample))
        await idle.finish()
    }

    @Test func `a store restored without a user and without a failure loads it`() async {
        let store = TestStore(UserInfo(users: StubUsers { .sample }), state: UserInfo.State())
        await store.receive(.fetchStarted) { $0.progress = .loading }
        await store.receive(.fetched(.sample)) { $0 = UserInfo.State(user: .sample) }
        await store.finish()
        let failed = TestStore(UserInfo(users: StubUsers()), state: UserInfo.State(progress: .failed))
        await failed.finish()
    }
}
