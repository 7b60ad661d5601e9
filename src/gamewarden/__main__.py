"""`python -m gamewarden` is `gamewarden`."""

from gamewarden.cli import main

if __name__ == "__main__":
    main()
