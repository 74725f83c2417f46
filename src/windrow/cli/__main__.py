"""``python -m windrow.cli`` is ``windrow``."""

from windrow.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
