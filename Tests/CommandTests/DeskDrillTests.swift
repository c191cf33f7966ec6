import SQLite
import SQLiteJournal
import SessionJournal
import TestSupport
import Testing
import WireJSON

@testable import MVIServer

/// Tests backup, restore and forget with the desk, a program with a database of its own.
@Suite("a backup of a program with a database, while it runs", .timeLimit(.minutes(10)))
struct DeskDrillTests {
    private static let script = #"""
        set -euo pipefail
        export DESK_DEVELOPMENT=true MVI_ADMIN_TOKEN=0123456789abcdef-admin
        server=
        trap 'touch stop; kill $server 2>/dev/null || true; wait' EXIT
        # start FOLDER
        start() {
            : >log
            desk --port 0 --admin-port 0 --intent-rate 0 --data "$1" --desk "$1/desk.sqlite" >>log 2>&1 & server=$!
            port=
            until [[ $port ]]; do
                kill -0 $server || { cat log; exit 1; }
                port=$(sed -nE 's/.* address=http:\/\/127.0.0.1:([0-9]+) .*/\1/p' log | head -n 1)
            done
            admin=$(sed -nE 's/.* admin=http:\/\/127.0.0.1:([0-9]+) .*/\1/p' log | head -n 1)
        }
        sign_in() {
            curl -sf "127.0.0.1:$port/sessions" --json "{\"credential\":\"bearer\",\"identity\":\"$1\"}" |
                sed -E 's/.*"token":"([^"]*)".*/\1/'
        }
        # opens TOKEN TITLE: a ticket, whose key is kept with the answer.
        opens() {
            curl -sf -o /dev/null "127.0.0.1:$port/features/tickets/intents" -H "Authorization: Bearer $1" \
                -H "Idempotency-Key: \"$2\"" -H 'Prefer: return=minimal' --json "{\"type\":\"open\",\"title\":\"$2\"}"
        }
        write() {
            local number=0
            while [[ ! -e stop ]] && ((number < 900)); do opens "$1" "$2-$((number += 1))"; touch "begun-$2"; done
        }
        mkdir data
        start data
        ann=$(sign_in annabella) bob=$(sign_in bob)
        write $ann annabella & writers=($!)
        write $bob bob & writers+=($!)
        until [[ -e begun-annabella && -e begun-bob ]]; do kill -0 $server; done
        for number in 1 2 3 4 5; do desk backup backup$number --data data --desk data/desk.sqlite; done
        touch stop
        wait "${writers[@]}"
        desk forget annabella --issuer development --admin-port $admin --admin-host 127.0.0.1
        kill -9 $server
        wait $server || true
        for number in 1 2 3 4 5; do
            desk restore backup$number --data moment$number --desk moment$number/desk.sqlite
            mkdir restored$number
            cp data/forgotten.jsonl data/forgotten.jsonl.key restored$number
            desk restore backup$number --data restored$number --desk restored$number/desk.sqlite
        done
        start restored5
        opens $bob bob-again
        kill $server
        wait $server
        # The files of the server that was killed, after one that ends in order.
        start data
        kill $server
        wait $server
        """#

    private struct State: Decodable {
        struct Pending: Decodable { let title: String }
        let pending: [Pending]
    }

    /// The titles of a person's tickets: those of the intents in the journal, without those that the database does not
    /// have yet, and those in the database.
    private func titles(of person: String, in folder: String) throws -> (journal: Set<String>, desk: Set<String>) {
        let file = SQLiteJournalFile(directory: folder)
        var journal: Set<String> = []
        var pending: Set<String> = []
        for session in try file.sessions(limit: 10) {
            guard let export = try file.export(session.id), export.session.record.subject?.id == person else {
                continue
            }
            for receipt in export.session.receipts {
                if case .key(let key, _) = receipt.key { journal.insert(key) }
            }
            for store in export.stores {
                pending.formUnion(try WireJSON.decode(State.self, from: store.state).pending.map(\.title))
            }
        }
        var desk = try Connection(.file("\(folder)/desk.sqlite"))
        let stored = try Set(
            desk.query("SELECT title FROM tickets WHERE customer = ?", [.text(person)]) { row in try row.text(0) })
        return (journal.subtracting(pending.subtracting(stored)), stored)
    }

    @Test func `sessions and tickets are of one moment, and nobody who was deleted comes back in either`() async throws
    {
        let temporary = try TemporaryFolder()
        let (code, text) = try await Tool.bash.output([
            "-c", "PATH=\(Tool.folder):$PATH\ncd \(temporary.path)\n\(Self.script)",
        ])
        try #require(code == 0, "\(text)")
        var last = 0
        for number in 1...5 {
            for person in ["annabella", "bob"] {
                let found = try titles(of: person, in: "\(temporary.path)/moment\(number)")
                #expect(found.journal == found.desk, "\(person) in backup \(number)")
                if person == "bob" {
                    #expect(found.desk.count >= last)
                    last = found.desk.count
                }
            }
            let folder = "\(temporary.path)/restored\(number)"
            let ann = try titles(of: "annabella", in: folder)
            #expect(ann.journal.isEmpty && ann.desk.isEmpty)
            let bob = try titles(of: "bob", in: folder)
            #expect(bob.journal == bob.desk && !bob.desk.isEmpty)
        }
        #expect(last > 5, "the backups were made while tickets were opened")
        #expect(try titles(of: "bob", in: "\(temporary.path)/restored5").desk.contains("bob-again"))
        for folder in ["data", "restored1", "restored5"] {
            let (code, found) = try await Tool.bash.output(["-c", "grep -rl 'annabella' \(temporary.path)/\(folder)"])
            #expect(code == 1, "\(found)")
        }
    }
}
