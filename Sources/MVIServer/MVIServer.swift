// MVIServer
