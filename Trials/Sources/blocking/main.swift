// The server as it is with one feature whose handler blocks; its settings are the environment's (MVI_PORT, …).
import MVIServer

try await FeatureServer {
    Blocking()
}.run()
