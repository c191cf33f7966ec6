import Logging
import PostgreSQL

/// Partitions, and what else is to be looked after. One lane of a process does it; several processes do not harm each other.
extension WriteLane {
    func maintainIfDue() {
        guard ContinuousClock.now >= nextMaintenance, let connection else { return }
        nextMaintenance = .now + engine.options.maintenanceInterval
        let setup = DatabaseSetup(connection, engine: engine, deadline: .now + engine.options.transactionTime)
        do {
            try setup.makePartitions()
            try setup.dropPartitions(now: engine.now())
            try setup.dropWriters()
            try setup.countSessions()
            let age = try setup.oldestTransaction()
            engine.count { $0.oldestTransaction = age }
            if let age, age > engine.options.oldTransaction {
                engine.logger.warning(
                    "A transaction in the journal's database is so old that rows cannot be cleaned up.",
                    metadata: ["seconds": "\(age.components.seconds)"])
            }
        } catch {
            engine.logger.warning(
                "The journal's partitions could not be looked after; it is tried again.",
                metadata: ["reason": "\(error)"])
            if (error as? PostgresError)?.extent == .connection
                || (error as? PipelineFailure)?.error.extent == .connection
            {
                self.connection = nil
                nextAttempt = .now
            } else {
                _ = try? connection.run([PostgresStatement("ROLLBACK")], deadline: .now + engine.options.lockTime)
            }
        }
    }

    /// Makes the partitions that a write has missed; says whether it could.
    func makePartitions() -> Bool {
        guard let connection else { return false }
        let setup = DatabaseSetup(connection, engine: engine, deadline: .now + engine.options.transactionTime)
        do {
            try setup.makePartitions()
            return true
        } catch {
            _ = try? connection.run([PostgresStatement("ROLLBACK")], deadline: .now + engine.options.lockTime)
            return false
        }
    }
}
