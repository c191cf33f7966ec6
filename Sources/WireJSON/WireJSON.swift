// WireJSON
