import MVI
import SessionJournal
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@testable import SQLiteJournal

/// The list of deleted subjects beside a journal.
@Suite struct ForgottenListTests {
    private let ada = Subject(issuer: "issuer", id: "ada")

    @Test func `a list of deleted subjects that is cut or damaged`() throws {
        let folder = try TemporaryFolder()
        let list = folder.forgotten
        #expect(try list.subjects() == [])
        let first = try list.note(ada, at: .seconds(5))
        let third = try list.key().subject(ada, at: .seconds(7))
        _ = try list.note(ada, at: .seconds(6))
        let whole = try contents(list.path)
        #expect(try list.subjects().count == 2)
        truncate(list.path, off_t(whole.count - 3))
        #expect(try list.subjects() == [first])
        try list.append([third])
        #expect(try list.subjects() == [first, third])
        try write(Array("nonsense\n".utf8), to: list.path)
        #expect(throws: StoreError.self) { try list.subjects() }
    }

    @Test func `a list of an older release is sealed when it is read, and still finds its subjects`() throws {
        let folder = try TemporaryFolder()
        let list = folder.forgotten
        let bob = Subject(issuer: "issuer", id: "bob")
        let old = [(ada, Duration.seconds(5)), (bob, .seconds(6))].map { subject, time in
            ForgottenSubject.plain(subject, at: time)
        }
        try list.append(old)
        let new = try list.note(ada, at: .seconds(9))
        let found = try list.subjects()
        #expect(found.count == 3 && found.last == new && !found.contains(where: \.isPlain))
        for subject in old { #expect(!found.map(\.key).contains(subject.key)) }
        let finder = ForgottenFinder(found, try list.key())
        #expect(finder.time(of: ada) == .seconds(9) && finder.time(of: bob) == .seconds(6))
        #expect(finder.time(of: Subject(issuer: "other", id: "bob")) == nil)
    }
}
