// MVI
