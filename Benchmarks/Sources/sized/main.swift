// The server as it is with one feature whose states have any size; its settings are the environment's (MVI_PORT, …).
import MVIServer

try await FeatureServer {
    Keyed { key in Sized(key: key) }
}.run()
