import MVI
import PostgreSQL
import SessionJournal

/// Operations of servers that share the database. Those about nodes have their own connection, so that they do not wait
/// for appends.
extension PostgresJournal {
    package func listen(_ heard: @escaping @Sendable (JournalNews) -> Void) { engine.listen(heard) }

    package func marks(of sessions: [SessionKey], done: @escaping Done<[SessionKey: SessionMark]>) {
        engine.ask(.marks(sessions), after: sessions.map { .session($0) }, done) { answer in
            var marks: [SessionKey: SessionMark] = [:]
            for row in answer.rows {
                marks[try row.key(0)] = SessionMark(
                    token: try row.token(4), head: try row.head(1), accessChanges: try row.bits(3),
                    epoch: try row.text(5))
            }
            return marks
        }
    }

    package func areKnown(_ tokens: [TokenHash], done: @escaping Done<Set<TokenHash>>) {
        engine.ask(.known(tokens), after: tokens.map { .token($0) }, done) { answer in
            Set(try answer.rows.map { row in try row.token(0) })
        }
    }

    package func tellContention(of session: SessionKey) { engine.tellContention(of: session) }

    // MARK: Nodes

    package func join(_ node: NodeRecord, done: @escaping Done<[NodeRecord]>) {
        engine.steps([.node(node.id)], done) { [engine] transaction in
            let results = try transaction.commit(
                engine.statements.join(node, isLossless: engine.options.failoverLosesNothing))
            transaction.news.changeNodes()
            return .success(try results[2].map { row in try row.node() })
        }
    }

    package func renew(_ node: NodeRecord, done: @escaping Done<NodeRenewal?>) {
        let write = Write(
            work: .statement(engine.statements.renew(node)) { rows, news in
                var time = Duration.zero
                let nodes = try rows.map { row in
                    time = max(time, try row.time(5))
                    if try row.bool(4) { news.changeNodes() }
                    return try row.node()
                }
                let renewal = nodes.isEmpty ? nil : NodeRenewal(nodes: nodes, time: time)
                return .other { done(.success(renewal)) }
            }, keys: [.node(node.id)], fail: { error, _ in .other { done(.failure(error)) } })
        engine.start(write, done)
    }

    package func forget(_ node: NodeID, renewals: UInt64?, done: @escaping Done<Bool>) {
        engine.steps([.node(node)], done) { [engine] transaction in
            let results = try transaction.commit(engine.statements.forget(node, renewals: renewals))
            if results[0].affected > 0 { transaction.news.changeNodes() }
            return .success(try results[2].first?.bool(0) == true)
        }
    }

    package func orphans(limit: Int, done: @escaping Done<[OrphanedSession]>) {
        engine.read(.all, done) { [engine] reader in
            reader.attempt([engine.statements.orphans(limit: limit)]) { results in
                try results.first?.rows.compactMap { row in
                    guard let owner = try row.owner(2) else { return nil }
                    return OrphanedSession(
                        session: try row.key(0), token: try row.token(1), owner: owner,
                        working: row.isNull(5) ? [] : try WorkingStores.features(try row.bytes(5)))
                } ?? []
            }
        }
    }

    package func noteStreams(
        _ count: Int, of session: SessionKey, on node: NodeID, limit: Int?, done: @escaping Done<Bool>
    ) {
        let note = StreamNote(session: session, node: node, count: max(0, count), limit: limit)
        let write = Write(
            work: .streams(note, done), keys: [.streams(session)], bytes: 50,
            fail: { error, _ in .other { done(.failure(error)) } })
        engine.start(write, done)
    }

    package func claimAlarms(
        dueAt now: Duration, by node: NodeID, for life: Duration, limit: Int,
        done: @escaping Done<(due: [Alarm], next: Duration?)>
    ) {
        engine.steps([.alarms], done, wait: .all) { [engine] transaction in
            let results = try transaction.commit(
                engine.statements.claimAlarms(dueAt: now, by: node, for: life, limit: limit))
            let due = try results[0].map { row in
                Alarm(token: try row.token(2), session: try row.key(1), due: try row.time(0))
            }
            return .success((due, try results[1].first?.time(0)))
        }
    }
}
