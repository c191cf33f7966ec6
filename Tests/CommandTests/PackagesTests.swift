import Foundation
import TestSupport
import Testing

/// Tests `script/packages`, `script/lib/vulnerabilities.py` and `script/image --pin` in a folder with a test's own
/// packages.
@Suite("The list of packages", .timeLimit(.minutes(5)))
struct PackagesTests {
    private static let root = "\(#filePath)".replacing(#/Tests/CommandTests/.*$/#, with: "")

    private static let commit = "0f7a7a1376bd37a3474591497430631c7189718d"

    /// Creates a folder with the scripts and a resolved-packages file.
    private func folder(_ versions: [String: String]) throws -> TemporaryFolder {
        let temporary = try TemporaryFolder()
        _ = try temporary.folder("script")
        _ = try temporary.folder("script/lib")
        for script in ["script/packages", "script/lib/vulnerabilities.py"] {
            try FileManager.default.copyItem(atPath: Self.root + script, toPath: "\(temporary.path)/\(script)")
        }
        try resolve(versions, in: temporary)
        return temporary
    }

    /// Writes the file of `swift package resolve`.
    private func resolve(
        _ versions: [String: String], owner: String = "some", commit: String = commit, in temporary: TemporaryFolder
    ) throws {
        let pins = versions.sorted { $0.key > $1.key }.map { name, version in
            """
                {
                  "identity" : "\(name)",
                  "kind" : "remoteSourceControl",
                  "location" : "https://github.com/\(owner)/\(name).git",
                  "state" : {
                    "revision" : "\(commit)",
                    "version" : "\(version)"
                  }
                }
            """
        }
        let text = "{\n  \"pins\" : [\n\(pins.joined(separator: ",\n"))\n  ],\n  \"version\" : 3\n}\n"
        try text.write(toFile: "\(temporary.path)/Package.resolved", atomically: true, encoding: .utf8)
    }

    private func run(_ command: String, in folder: TemporaryFolder) async throws -> (code: Int32, text: String) {
        try await Tool.bash.output(["-c", "cd \(folder.path)\n\(command)"])
    }

    @Test func `the list equals the resolved packages, and any difference is an error with advice`()
        async throws
    {
        let folder = try folder(["a": "1.2.3", "b-c": "4.0.0"])
        try await #expect(run("script/packages --update", in: folder).code == 0)
        try await #expect(run("script/packages", in: folder).code == 0)
        let changes: [(versions: [String: String], lines: [String])] = [
            (["a": "1.2.4", "b-c": "4.0.0"], ["< a 1.2.3", "> a 1.2.4"]), (["b-c": "4.0.0"], ["< a 1.2.3"]),
            (["a": "1.2.3", "b-c": "4.0.0", "d": "1.0.0"], ["> d 1.0.0"]),
        ]
        for (versions, lines) in changes {
            try resolve(versions, in: folder)
            let (code, text) = try await run("script/packages", in: folder)
            #expect(code == 1 && text.contains("script/packages --update"))
            let found = text.split(separator: "\n").filter { "<>".contains($0.prefix(1)) }
            #expect(found.map { $0.split(separator: " ").prefix(3).joined(separator: " ") } == lines)
            // The advised command.
            try await #expect(run("script/packages --update && script/packages", in: folder).code == 0)
            try resolve(["a": "1.2.3", "b-c": "4.0.0"], in: folder)
            try await #expect(run("script/packages --update", in: folder).code == 0)
        }
        // The same versions from elsewhere, or of a tag that was moved.
        for (owner, commit) in [("other", Self.commit), ("some", String(Self.commit.reversed()))] {
            try resolve(["a": "1.2.3", "b-c": "4.0.0"], owner: owner, commit: commit, in: folder)
            let (code, text) = try await run("script/packages", in: folder)
            #expect(code == 1 && text.contains("> a 1.2.3 https://github.com/\(owner)/a.git \(commit)"))
        }
        try FileManager.default.removeItem(atPath: "\(folder.path)/Package.resolved")
        let (code, text) = try await run("script/packages", in: folder)
        #expect(code == 1 && text.contains("swift package resolve"))
    }

    @Test func `the list of this repository equals the packages of this build`() async throws {
        let (code, text) = try await Tool.bash.output(["\(Self.root)script/packages"])
        #expect(code == 0, "\(text)")
    }

    @Test func `the bill of materials has each package and the other given components`() async throws {
        struct Bill: Decodable {
            struct Component: Decodable { let name, version, purl: String }
            let bomFormat, specVersion: String
            let components: [Component]
        }
        let folder = try folder(["a": "1.2.3", "b-c": "4.0.0"])
        let more = #"{"type":"library","name":"libc6","version":"2.36","purl":"pkg:deb/debian/libc6@2.36"}"#
        let (code, text) = try await run("echo '\(more)' | script/packages --sbom server", in: folder)
        #expect(code == 0)
        let bill = try JSONDecoder().decode(Bill.self, from: Data(text.utf8))
        #expect(bill.bomFormat == "CycloneDX" && bill.specVersion == "1.5")
        #expect(bill.components.map(\.name) == ["a", "b-c", "libc6"])
        #expect(bill.components.map(\.purl).first == "pkg:swift/github.com/some/a@1.2.3")
    }

    @Test(arguments: [
        (#"{"type":"SEMVER","events":[{"introduced":"0"},{"fixed":"1.2.4"}]}"#, true),
        (#"{"type":"SEMVER","events":[{"introduced":"0"},{"fixed":"1.2.3"}]}"#, false),
        (#"{"type":"SEMVER","events":[{"introduced":"1.2.3"}]}"#, true),
        (#"{"type":"SEMVER","events":[{"introduced":"1.10.0"}]}"#, false),
        (
            #"{"type":"SEMVER","events":[{"introduced":"0"},{"fixed":"1.0.0"},{"introduced":"1.2.0"},{"fixed":"1.9.0"}]}"#,
            true
        ),
        (#"{"type":"SEMVER","events":[{"introduced":"0"},{"last_affected":"1.2.3"}]}"#, true),
        (#"{"type":"SEMVER","events":[{"introduced":"0"},{"last_affected":"1.2.3-rc1"}]}"#, false),
    ])
    func `a version in the range of a known vulnerability is reported`(range: String, isFound: Bool) async throws {
        let folder = try folder(["a": "1.2.3", "b-c": "4.0.0"])
        try await #expect(run("script/packages --update", in: folder).code == 0)
        let record = #"""
            {"id":"X-1","summary":"a fault","affected":[{"package":{"ecosystem":"SwiftURL","name":"github.com/some/NAME"},
            "ranges":[\#(range)]}]}
            """#
        for (name, isHere) in [("a", true), ("other", false)] {
            try record.replacing("NAME", with: name)
                .write(toFile: "\(folder.path)/record.json", atomically: true, encoding: .utf8)
            let (code, text) = try await run("script/lib/vulnerabilities.py record.json", in: folder)
            #expect(code == (isFound && isHere ? 1 : 0), "\(text)")
            if isFound, isHere { #expect(text == "github.com/some/a 1.2.3: X-1 a fault\n") }
        }
    }

    @Test func `base images are pinned by the digests that the tool pulled, each time anew`() async throws {
        let folder = try TemporaryFolder()
        let files = "Dockerfile Examples/Template/Dockerfile Examples/Template/.github/workflows/ci.yml"
        let (code, before) = try await run(
            #"""
            set -e
            mkdir -p bin script Examples/Template/.github/workflows
            for file in script/image \#(files); do cp '\#(Self.root)'$file $file; done
            cat >bin/podman <<'END'
            #!/bin/bash
            [[ $1 == pull ]] || echo "docker.io/library/x@sha256:$(sha256sum <<<"$DAY ${!#}" | cut -c -64)"
            END
            chmod +x bin/podman
            cat \#(files)
            """#, in: folder)
        try #require(code == 0, "\(before)")
        func pinned(_ day: Int) async throws -> [String] {
            let (code, text) = try await run(
                "DAY=\(day) CONTAINER_TOOL=podman PATH=$PWD/bin:$PATH script/image --pin >/dev/null && cat \(files)",
                in: folder)
            #expect(code == 0 && text.replacing(#/@sha256:[0-9a-f]{64}/#, with: "") == before)
            return text.matches(of: #/(?:FROM|container:) (.+:.+@sha256:[0-9a-f]{64})( AS build)?\n/#).map { "\($0.1)" }
        }
        let (first, second) = (try await pinned(1), try await pinned(2))
        #expect(first.count == 5 && Set(first).count == 2)
        #expect(second.count == 5 && Set(first).isDisjoint(with: second))
        let (failed, _) = try await run(
            "echo 'exit 0' >>bin/podman; sed -i 's/@sha256/@md5/' bin/podman; "
                + "CONTAINER_TOOL=podman PATH=$PWD/bin:$PATH script/image --pin", in: folder)
        #expect(failed == 1)
    }
}
