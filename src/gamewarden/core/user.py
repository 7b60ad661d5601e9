"""Who runs this process."""

import os


def login() -> str:
    """Whom the system takes for who types; LOGNAME and USER may say another name."""
    from getpass import getuser

    try:
        return getuser()
    except (OSError, KeyError):  # a user without a name, as in a container
        return "unnamed"


def system_user() -> str:
    """The name of the user whose process this is, whatever the environment says."""
    try:
        import pwd
    except ImportError:  # Windows
        return login()
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a user without a name, as in a container
        return f"user {os.getuid()}"
