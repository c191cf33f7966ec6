import SQLite
import SQLiteJournal
import SessionJournal
import TestSupport
import Testing

@testable import MVIServer

/// Tests backup, restore and forget with the desk, a program with shared stores and a database of its own.
@Suite("a backup of a program with shared stores and a database, while it runs", .timeLimit(.minutes(10)))
struct DeskDrillTests {
    private static let script = #"""
        set -euo pipefail
        export DESK_DEVELOPMENT=true MVI_ADMIN_TOKEN=0123456789abcdef-admin
        server=
        trap 'touch stop; kill $server 2>/dev/null || true; wait' EXIT
        # start FOLDER
        start() {
            : >log
            desk --port 0 --admin-port 0 --intent-rate 0 --data "$1" --outbox "$1/outbox.sqlite" >>log 2>&1 & server=$!
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
        # says TOKEN TICKET KEY INTENT, whose key is kept with the answer.
        says() {
            curl -sf -o /dev/null "127.0.0.1:$port/features/ticket:$2/intents" -H "Authorization: Bearer $1" \
                -H "Idempotency-Key: \"$3\"" -H 'Prefer: return=minimal' --json "$4"
        }
        comments() { says $1 $2 $3 "{\"type\":\"comment\",\"text\":\"$3\"}"; }
        write() {
            local number=0
            says $1 $2 open '{"type":"open","title":"Help"}'
            while [[ ! -e stop ]] && ((number < 900)); do comments $1 $2 "$3-$((number += 1))"; touch "begun-$3"; done
        }
        # Waits until nothing of Annabella is stored in a folder's journal, and all mails are in the outbox's database, in one
        # look at all sessions: one tells another.
        until_clean() {
            local id dirty=yes
            while [[ $dirty ]]; do
                dirty=
                for id in $(desk sessions --data "$1" | tail -n +2 | cut -f 1); do
                    ! desk export $id --data "$1" | grep -cE 'annabella|‹message›|"jobs":\[\{' >/dev/null || dirty=yes
                done
                kill -0 $server
            done
        }
        mkdir data
        start data
        ann=$(sign_in annabella) bob=$(sign_in bob)
        write $ann 00000000-0000-4000-8000-00000000000a annabella & writers=($!)
        write $bob 00000000-0000-4000-8000-00000000000b bob & writers+=($!)
        until [[ -e begun-annabella && -e begun-bob ]]; do kill -0 $server; done
        for number in 1 2 3 4 5; do desk backup backup$number --data data --outbox data/outbox.sqlite; done
        touch stop
        wait "${writers[@]}"
        desk forget annabella --issuer development --admin-port $admin --admin-host 127.0.0.1
        kill -9 $server
        wait $server || true
        for number in 1 2 3 4 5; do
            desk restore backup$number --data moment$number --outbox moment$number/outbox.sqlite
        done
        mkdir restored
        cp data/forgotten.jsonl data/forgotten.jsonl.key restored
        desk restore backup5 --data restored --outbox restored/outbox.sqlite
        start restored
        until_clean restored
        comments $bob 00000000-0000-4000-8000-00000000000b bob-0
        until_clean restored
        kill $server
        wait $server
        # The files of the server that was killed, after one that ends in order.
        start data
        until_clean data
        kill $server
        wait $server
        """#

    /// What a person wrote, by the journal's receipts, and what of it is mail: in the database or on its way.
    private func comments(of person: String, in folder: String) throws -> (written: Set<String>, mailed: Set<String>) {
        func texts(_ bytes: [UInt8]) -> [String] {
            String(decoding: bytes, as: UTF8.self).matches(of: #/[a-z]+-[0-9]+/#).map { String($0.0) }
                .filter { $0.hasPrefix(person) }
        }
        let file = SQLiteJournalFile(directory: folder)
        var (written, mailed): (Set<String>, Set<String>) = ([], [])
        for session in try file.sessions(limit: 10) {
            guard let export = try file.export(session.id), session.space != nil else { continue }
            for receipt in export.session.receipts {
                if case .key(let key, _) = receipt.key { written.formUnion(texts(Array(key.utf8))) }
            }
            for reminder in export.session.reminders { mailed.formUnion(texts(reminder.action)) }
            if session.space?.text == "outbox" { for store in export.stores { mailed.formUnion(texts(store.state)) } }
        }
        var outbox = try Connection(.file("\(folder)/outbox.sqlite"))
        let rows = try outbox.query("SELECT text FROM mails") { row in try row.text(0) }
        return (written, mailed.union(rows.flatMap { texts(Array($0.utf8)) }))
    }

    @Test func `tickets and mails are of one moment, and nobody who was deleted comes back in either`() async throws {
        let temporary = try TemporaryFolder()
        let (code, text) = try await Tool.bash.output([
            "-c", "PATH=\(Tool.folder):$PATH\ncd \(temporary.path)\n\(Self.script)",
        ])
        try #require(code == 0, "\(text)")
        var last = 0
        for number in 1...5 {
            for person in ["annabella", "bob"] {
                let found = try comments(of: person, in: "\(temporary.path)/moment\(number)")
                #expect(found.written == found.mailed, "\(person) in backup \(number)")
                if person == "bob" {
                    #expect(found.written.count >= last)
                    last = found.written.count
                }
            }
        }
        #expect(last > 5, "the backups were made while tickets were written to")
        let bob = try comments(of: "bob", in: "\(temporary.path)/restored")
        #expect(bob.written == bob.mailed && bob.written.contains("bob-0"))
        for folder in ["data", "restored"] {
            let (code, found) = try await Tool.bash.output(["-c", "grep -rl 'annabella' \(temporary.path)/\(folder)"])
            #expect(code == 1, "\(found)")
        }
    }
}
