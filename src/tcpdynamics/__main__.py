"""`python -m tcpdynamics`: the command."""

from tcpdynamics.apps.cli import main

if __name__ == "__main__":
    main()
