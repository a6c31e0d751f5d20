"""`python -m gossamer` is the same as `gossamer`."""

from gossamer.cli.main import main

if __name__ == "__main__":
    main()
