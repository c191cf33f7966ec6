// The server as it is with features whose states have any size; its settings are the environment's (MVI_PORT, …).
import MVIServer

try await FeatureServer {
    Keyed { key in Sized(key: key) }
    Keyed { key in Rows(key: key) }
}.run()
