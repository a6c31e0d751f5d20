"""`python -m gossamer` is the same as `gossamer`."""

from gossamer.app.cli import main

if __name__ == "__main__":
    main()
