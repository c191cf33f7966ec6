$ curl -s -c jar --json '{"credential":"cookie"}' localhost:8080/sessions
$ curl -s -b jar --json '{"type":"add","amount":5}' localhost:8080/features/tally/intents
$ curl -s -b jar localhost:8080/features/tally/state
{"count":5}
