$ swift run little-shop --reservation 10s
