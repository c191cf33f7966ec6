$ export MVI_JWT_SECRET=$(openssl rand -base64 32)
$ swift run little-shop --jwt-issuer https://login.example.com/ --jwt-audience little-shop
