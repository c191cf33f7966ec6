// MVITesting
