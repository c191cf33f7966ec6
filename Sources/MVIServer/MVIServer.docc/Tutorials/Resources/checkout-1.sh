$ curl -s -b jar --json '{"type":"place"}' localhost:8080/features/checkout:tea/intents
$ curl -s -b jar localhost:8080/features/cart:tea/state
{"lines":[],"total":0}
