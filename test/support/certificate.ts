/**
 * A certificate for the name `localhost` alone, its own authority, good for a hundred years. For tests only: the key is
 * in the open, and nothing outside the tests trusts it.
 */
export const certificate = `-----BEGIN CERTIFICATE-----
MIIBmTCCAT+gAwIBAgIUAjlTUwISeAPQFEdXhcZlCU2WpmwwCgYIKoZIzj0EAwIw
FjEUMBIGA1UEAwwLQmVsZnJ5IHRlc3QwIBcNMjYxMTE1MDExODM4WhgPMjEyNjEw
MjIwMTE4MzhaMBYxFDASBgNVBAMMC0JlbGZyeSB0ZXN0MFkwEwYHKoZIzj0CAQYI
KoZIzj0DAQcDQgAEveMelf2qfJ4nX8hAAJvXN9++trY11PGHWVlMJmHU8lsXCzw2
LF2scGKVzl9k3j0N3m66Av51Hra0NtFVjfrLW6NpMGcwHQYDVR0OBBYEFDamoi4B
W96SBnwRJt3lXMRZfk33MB8GA1UdIwQYMBaAFDamoi4BW96SBnwRJt3lXMRZfk33
MBQGA1UdEQQNMAuCCWxvY2FsaG9zdDAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49
BAMCA0gAMEUCIEQknqOZLwCZYsAnlacOWBl48Mf7emWB6ApTdl3PJEBiAiEAqy2O
AMddAc/Ei8gvjM9Gd+/FCcJ1AEyixKleFzVtaXg=
-----END CERTIFICATE-----`;

export const certificateKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg2drCLwA7IrUpw0ZR
SOhcgqGJWdUi3l6QrQeuvYDLid+hRANCAAS94x6V/ap8nidfyEAAm9c33762tjXU
8YdZWUwmYdTyWxcLPDYsXaxwYpXOX2TePQ3ebroC/nUetrQ20VWN+stb
-----END PRIVATE KEY-----`;
