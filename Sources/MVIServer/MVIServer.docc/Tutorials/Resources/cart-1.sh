$ curl -s -b jar --json '{"type":"add","product":"assam","count":2}' localhost:8080/features/cart:tea/intents
$ curl -s -b jar localhost:8080/features/cart:tea/state
{"counts":{"assam":2}}
