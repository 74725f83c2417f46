"""One file a command; each has ``execute(options)``, which gives the exit code."""
