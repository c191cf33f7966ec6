import Foundation
import TestSupport
import Testing

/// Tests the script; the template itself is built and tested as a target of this package.
@Suite("script/new", .timeLimit(.minutes(10)))
struct NewPackageTests {
    private static let root = "\(#filePath)".replacing(#/\/Tests\/CommandTests\/.*$/#, with: "")
    private let temporary: TemporaryFolder

    init() throws { temporary = try TemporaryFolder() }

    /// A development container's description.
    private struct Container: Decodable { let name, image: String, mounts: [String] }

    private func new(_ arguments: String...) async throws -> (code: Int32, text: String) {
        try await Tool.bash.output(["\(Self.root)/script/new"] + arguments)
    }

    /// Returns the texts of a folder's files by their relative paths.
    private func files(_ folder: String) throws -> [String: String] {
        var files: [String: String] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            files[path] = try? String(contentsOfFile: "\(folder)/\(path)", encoding: .utf8)
        }
        return files
    }

    @Test(arguments: ["little-shop", "LittleShop"])
    func `everything has the new name`(name: String) async throws {
        let folder = "\(temporary.path)/new"
        let (code, text) = try await new(name, folder)
        #expect(code == 0, "\(text)")
        let files = try files(folder)
        #expect(
            files.keys.sorted() == [
                ".devcontainer/devcontainer.json", ".dockerignore", ".github/workflows/ci.yml", ".gitignore",
                "Dockerfile", "Package.swift", "README.md",
                "Sources/LittleShop/Page/index.html", "Sources/LittleShop/Page/page.js",
                "Sources/LittleShop/Server.swift", "Sources/LittleShop/Tally.swift",
                "Tests/LittleShopTests/TallyTests.swift",
            ])
        for (path, text) in files {
            #expect(!text.contains("NewServer") && !text.contains("new-server"), "\(path) has the template's name")
        }
        #expect(files["Package.swift"]?.contains(#"path: "\#(Self.root)""#) == true)
        #expect(files["Dockerfile"]?.contains("COPY --from=mvi-server [\"Sources\", \"\(Self.root)/Sources\"]") == true)
        let container = try JSONDecoder().decode(
            Container.self, from: Data((files[".devcontainer/devcontainer.json"] ?? "").utf8))
        #expect(container.name == "little-shop" && container.image == "swift:6.3-bookworm")
        #expect(container.mounts == ["type=bind,source=\(Self.root),target=\(Self.root)"])
    }

    @Test func `the feature has a name of its own, in the page, too`() async throws {
        let folder = "\(temporary.path)/poll"
        let (code, text) = try await new("daily-poll", folder, "--feature", "DailyPoll")
        #expect(code == 0, "\(text)")
        let files = try files(folder)
        // The module must not have the feature's name.
        #expect(files["Sources/DailyPollServer/DailyPoll.swift"]?.contains("struct DailyPoll: Feature") == true)
        #expect(files["Tests/DailyPollServerTests/DailyPollTests.swift"]?.contains("TestStore(DailyPoll())") == true)
        #expect(files["Sources/DailyPollServer/Page/page.js"]?.contains(".store(\"daily-poll\")") == true)
        #expect(files["Package.swift"]?.contains("name: \"daily-poll\", targets: [\"DailyPollServer\"]") == true)
        for (path, text) in files {
            #expect(!text.lowercased().contains("tally"), "\(path) has the template's feature")
        }
    }

    @Test func `the shared template has the same skeleton, a feature of its own, and a key for development`()
        async throws
    {
        let (plain, folder) = ("\(temporary.path)/plain", "\(temporary.path)/shared")
        _ = try await new("queue-desk", plain)
        let (code, text) = try await new("queue-desk", folder, "--like", "shared", "--feature", "FrontDesk")
        #expect(code == 0 && text.contains("    ./development swift run queue-desk\n"), "\(text)")
        let (old, files) = (try files(plain), try files(folder))
        #expect(
            files.keys.sorted() == [
                ".devcontainer/devcontainer.json", ".dockerignore", ".github/workflows/ci.yml", ".gitignore",
                "Dockerfile", "Package.swift", "README.md",
                "Sources/QueueDesk/FrontDesk.swift", "Sources/QueueDesk/Page/index.html",
                "Sources/QueueDesk/Page/page.css", "Sources/QueueDesk/Page/page.js", "Sources/QueueDesk/Server.swift",
                "Tests/QueueDeskTests/FrontDeskTests.swift", "development",
            ])
        for (path, text) in files {
            let names = ["newserver", "newsharedserver", "new-server", "new-shared-server", "waitlist", "tally"]
            for name in names { #expect(!text.lowercased().contains(name), "\(path) has \(name)") }
        }
        for path in [".dockerignore", ".gitignore"] { #expect(files[path] == old[path]) }
        let more = #/libcurl4(-openssl-dev)? | --env [A-Z_]+/#
        for path in [".devcontainer/devcontainer.json", "Dockerfile", ".github/workflows/ci.yml"] {
            let (plain, shared) = (old[path]?.replacing(more, with: ""), files[path]?.replacing(more, with: ""))
            #expect(shared == plain && files[path] != old[path], "\(path)")
        }
        #expect(files["Package.swift"]?.contains(#"name: "JWTAuthentication", package: "mvi-server"),"#) == true)
        #expect(files["Sources/QueueDesk/Page/page.js"]?.contains(".store(\"front-desk\")") == true)
        #expect(files["README.md"]?.contains("| `Sources/QueueDesk/FrontDesk.swift`,") == true)
    }

    @Test func `the key for development is made by its first use, for its user only`() async throws {
        let folder = "\(temporary.path)/shared"
        _ = try await new("queue-desk", folder, "--like", "shared")
        let (code, text) = try await Tool.bash.output([
            "-c",
            """
            cd '\(folder)'
            ./development token Kim | tr . '\n' | sed -n 2p | tr -- -_ +/ | base64 -d 2>/dev/null
            printf '\\n'
            stat -c %a .build/development-key
            ./development bash -c '[[ $MVI_JWT_SECRET_FILE -ef .build/development-key ]] && echo "$MVI_JWT_ISSUER $MVI_HOST"'
            git init --quiet . && git status --short --ignored | grep build
            ./development token Lee kitchen | tr . '\n' | sed -n 2p | tr -- -_ +/ | base64 -d 2>/dev/null
            printf '\\n'
            ./development token Kim 'a"b' || ./development token 'a"b'
            """,
        ])
        let lines = text.split(separator: "\n").map(String.init)
        #expect(code == 1 && lines.count == 7, "\(text)")
        #expect(
            lines[0].hasPrefix(
                #"{"iss":"development","aud":"queue-desk","sub":"Kim","name":"Kim","role":"staff","exp":"#))
        #expect(lines[1...3] == ["600", "development 127.0.0.1", "!! .build/"])
        #expect(lines[4].contains(#""sub":"Lee","name":"Lee","role":"kitchen","exp":"#))
        let other = "\(temporary.path)/other"
        _ = try await new("queue-desk", other, "--like", "shared")
        _ = try await Tool.bash.output(["\(other)/development", "true"])
        let keys = try [folder, other].map {
            try String(contentsOfFile: "\($0)/.build/development-key", encoding: .utf8)
        }
        #expect(keys[0].count == 65 && keys[0] != keys[1])
    }

    @Test(arguments: [[], ["--like", "shared"]])
    func `SwiftPM reads its package`(like: [String]) async throws {
        let folder = "\(temporary.path)/shop"
        _ = try await Tool.bash.output(["\(Self.root)/script/new", "shop", folder] + like)
        let (code, text) = try await #require(Tool.swift).beside("swift").output([
            "package", "dump-package", "--package-path", folder,
        ])
        #expect(code == 0, "\(text)")
    }

    @Test(arguments: [
        (
            "https://git.example.com/mvi-server.git",
            #".package(url: "https://git.example.com/mvi-server.git", branch: "main")"#
        ),
        (
            "https://git.example.com/mvi-server.git@1.2.0",
            #".package(url: "https://git.example.com/mvi-server.git", from: "1.2.0")"#
        ),
        (
            "https://git.example.com/mvi-server.git@0.10.0",
            #".package(url: "https://git.example.com/mvi-server.git", .upToNextMinor(from: "0.10.0"))"#
        ),
        (
            "https://tally@10.0.0.1/new-server/Tally&co.git@v1.2.0-rc.1",
            #".package(url: "https://tally@10.0.0.1/new-server/Tally&co.git", from: "1.2.0-rc.1")"#
        ),
        (
            "ssh://git@git.example.com/mvi-server.git@next",
            #".package(url: "ssh://git@git.example.com/mvi-server.git", branch: "next")"#
        ),
        (
            "git@git.example.com:mvi-server.git",
            #".package(url: "git@git.example.com:mvi-server.git", branch: "main")"#
        ),
    ])
    func `the library can come from a repository, and the image needs no second folder then`(
        library: String, dependency: String
    ) async throws {
        let folder = "\(temporary.path)/shop"
        _ = try await new("shop", folder, "--library", library)
        let files = try files(folder)
        #expect(files["Package.swift"]?.contains(dependency) == true)
        #expect(files["Dockerfile"]?.contains("--from=mvi-server") == false)
        #expect(files[".devcontainer/devcontainer.json"]?.contains("mounts") == false)
    }

    @Test func `the library's folder may have any name that a manifest can contain`() async throws {
        let library = "\(temporary.path)/it's my tally & new-server"
        try FileManager.default.createDirectory(atPath: library, withIntermediateDirectories: false)
        try "".write(toFile: "\(library)/Package.swift", atomically: true, encoding: .utf8)
        let folder = "\(temporary.path)/my shop"
        let (code, text) = try await new("new-server", folder, "--library", library)
        #expect(code == 0, "\(text)")
        #expect(text.contains(#"    cd \#(temporary.path)/my\ shop"#), "\(text)")
        let files = try files(folder)
        #expect(
            files["Package.swift"]?.contains(#".package(name: "mvi-server", path: "\#(library)")"#) == true)
        #expect(files["Dockerfile"]?.contains(#"COPY --from=mvi-server ["Sources", "\#(library)/Sources"]"#) == true)
        #expect(files["Sources/NewServer/Tally.swift"] != nil)
    }

    @Test func `invalid arguments are refused, and nothing is overwritten`() async throws {
        for arguments in [
            [], ["1shop"], ["shop/.."], ["mvi"], ["shop", "--url"], ["shop", "--feature", "cart"],
            ["shop", "--library", "/nonexistent"], ["shop", ""], ["event-stream"], ["self"],
            ["shop", "--feature", "Self"], ["shop", "--like"], ["shop", "--like", "private"],
            ["shop", "--like", "shared", "--feature", "Party"],
            ["shop", "--library", "https://git.example.com/mvi.git@1.2"], ["shop", "--library", "https://"],
            ["shop", "--library", "https://git.example.com/mvi.git@"],
            ["shop", "--library", "https://git.example.com/m\"vi.git"],
        ] {
            let (code, text) = try await Tool.bash.output(["\(Self.root)/script/new"] + arguments)
            #expect(code == 1 && text.hasPrefix("script/new: "), "\(arguments): \(text)")
            #expect(text.split(separator: "\n").count == 1, "\(text)")
        }
        let (code, text) = try await new("shop", Self.root)
        #expect(code == 1)
        #expect(
            text == "script/new: '\(Self.root)' is there already, and nothing is overwritten: give another folder\n")
    }

    @Test func `the commands of its README print the shown output`() async throws {
        let examples = "\(Self.root)/Examples"
        try await expectPage("\(examples)/Template/README.md", commands: 4, variables: ["MVI_DATA": "data"])
        try await expectPage(
            "\(examples)/SharedTemplate/README.md", commands: 6, variables: ["MVI_DATA": "data"],
            files: ["\(examples)/SharedTemplate/development"])
    }
}
