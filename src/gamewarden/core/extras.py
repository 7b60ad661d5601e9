"""Libraries that only some work needs: what brings each of them, and one line where it is missing."""

from importlib.util import find_spec

from gamewarden.errors import InstallError

# What Python imports: what pip calls it, and the part of the installation that brings it.
LIBRARIES = {
    "sklearn": ("scikit-learn", "fit"),
    "scipy": ("scipy", "fit"),
    "lightgbm": ("lightgbm", "fit"),
    "matplotlib": ("matplotlib", "plot"),
    "graspologic_native": ("graspologic-native", "groups"),
    "PIL": ("pillow", "challenge"),
    "psycopg": ("psycopg", "postgres"),
    "pymysql": ("pymysql", "mysql"),
    "fastapi": ("fastapi", "web"),
    "uvicorn": ("uvicorn", "web"),
    "multipart": ("python-multipart", "web"),
    "argon2": ("argon2-cffi", "web"),
    "babel": ("babel", "web"),
    "prometheus_client": ("prometheus-client", "metrics"),
    "confluent_kafka": ("confluent-kafka", "kafka"),
    "nats": ("nats-py", "nats"),
    "pyspark": ("pyspark", "spark"),
    "pandas": ("pandas", "spark"),
    "distributed": ("distributed", "dask"),
    "authlib": ("authlib", "oidc"),
    "joserfc": ("joserfc", "oidc"),
    "httpx": ("httpx", "oidc"),
}


def need(work: str, *libraries: str) -> None:
    """Stop before the work begins where a library it needs is not installed.

    Raises:
        InstallError: there is one.
    """
    missing = [LIBRARIES[library] for library in libraries if not installed(library)]
    if missing:
        names = " and ".join(name for name, _ in missing)
        parts = ",".join(dict.fromkeys(part for _, part in missing))
        raise InstallError(f"{work} needs {names}; pip install 'gamewarden[{parts}]'")


def installed(library: str) -> bool:
    """Whether it could be imported; nothing is."""
    try:
        return find_spec(library) is not None
    except ImportError:
        return False
