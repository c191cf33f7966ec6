$ git clone <the repository> mvi-server
$ mvi-server/script/new little-shop
$ cd little-shop
$ swift run little-shop
