$ docker exec "$container" little-shop health
$ docker stop "$container"
$ docker start "$container"
