$ jwt=$(/usr/bin/python3 -c '
import jwt, os, time
print(jwt.encode({"iss": "https://login.example.com/", "aud": "little-shop", "sub": "ann",
                  "exp": int(time.time()) + 600}, os.environ["MVI_JWT_SECRET"], algorithm="HS256"))')
$ curl -s -c jar --json "{\"credential\":\"cookie\",\"identity\":\"$jwt\"}" localhost:8080/sessions
$ curl -s -b jar --json '{"type":"add","product":"assam","count":2}' localhost:8080/features/cart:tea/intents
$ curl -s -b jar --json '{"type":"place"}' localhost:8080/features/checkout:tea/intents
