$ docker build --tag little-shop --build-context mvi-server=../mvi-server .
$ docker run --publish 127.0.0.1:8080:8080 --volume little-shop-data:/data --stop-timeout 30 little-shop
