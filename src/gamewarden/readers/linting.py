"""What of a source can be read, looked over before anything is read in earnest."""

from collections.abc import Mapping
from dataclasses import replace

from gamewarden.contracts import Source
from gamewarden.errors import ReadError
from gamewarden.readers import credit_of
from gamewarden.readers.files import OneFile
from gamewarden.readers.logs.lint import Lint, Needs, lint, lint_events
from gamewarden.readers.places import spooled


def lint_source(source: Source, detectors: Mapping[str, Needs], features: Mapping[str, Needs]) -> Lint:
    """What of a log or a lake can be read, and which of these detectors and features stay blind.

    Raises:
        ReadError: there is nothing at that place.
    """
    if not isinstance(source, OneFile):
        return lint_events(source.events(), source.name, detectors, features, form=f"events{credit_of(source)}")
    path = spooled(source.path)
    if not path.exists():
        raise ReadError(f"{source.name}: there is no such file or lake")
    logs = source.options.logs
    found = lint(
        path,
        source.mapping,
        time_zone=logs.time_zone,
        detectors=detectors,
        features=features,
        plausible=logs.plausible,
    )
    return found if path == source.path else replace(found, source="standard input")
