"""Bring the libraries of the desk's pages into src/gamewarden/web/static/vendor, with their licences and digests.

    python tools/vendor.py        # needs npm; writes the files and manifest.json anew

Nothing else of a package is kept, and the pages ask no other host for anything.
"""

import hashlib
import json
import re
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

VENDOR = Path(__file__).parents[1] / "src/gamewarden/web/static/vendor"


@dataclass(frozen=True)
class Library:
    """One library: its package, version and licence, and the files of it that are kept."""

    package: str
    version: str
    licence: str
    files: dict[str, str]  # in the package -> as it is kept


LIBRARIES = (
    Library("htmx.org", "2.0.11", "0BSD", {"dist/htmx.min.js": "htmx.min.js", "LICENSE": "htmx.LICENSE.txt"}),
    Library(
        "echarts",
        "6.1.0",
        "Apache-2.0",
        {
            "dist/echarts.min.js": "echarts.min.js",
            "i18n/langKO.js": "echarts.ko.js",
            "LICENSE": "echarts.LICENSE.txt",
            "NOTICE": "echarts.NOTICE.txt",
            "licenses/LICENSE-d3": "echarts.d3.LICENSE.txt",
        },
    ),
    Library(
        "cytoscape",
        "3.34.4",
        "MIT",
        {"dist/cytoscape.min.js": "cytoscape.min.js", "LICENSE": "cytoscape.LICENSE.txt"},
    ),
    Library("@tabler/core", "1.6.1", "MIT", {"dist/css/tabler.min.css": "tabler.min.css"}),
    Library("lucide-static", "1.62.0", "ISC", {"LICENSE": "lucide.LICENSE.txt"}),
)
# Tabler's package has no licence file; its head names the holders and the MIT licence.
TABLER_LICENCE = """The MIT License (MIT)

Copyright (c) 2018-2026 The Tabler Authors
Copyright (c) 2018-2026 codecalm.net Paweł Kuna

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""
MADE_HERE = {"lucide-static": ("icons.svg",), "@tabler/core": ("tabler.LICENSE.txt",)}
ICONS = """
activity archive arrow-left arrow-right ban bell bot chart-line check chevron-down chevron-left chevron-right
circle-alert circle-help clock copy download external-link eye eye-off file-clock filter flag gavel gauge globe
history house keyboard key-round languages layers list list-checks log-in log-out map map-pin menu message-square
moon network pause play plus radio refresh-cw rotate-ccw save scale search send settings shield shield-check
skip-forward sun swords tag trash-2 triangle-alert undo-2 user user-check user-round users wifi x
"""


def main() -> None:
    """Write everything anew."""
    VENDOR.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        for library in LIBRARIES:
            archive = _packed(library, Path(place))
            for name, kept in library.files.items():
                (VENDOR / kept).write_bytes(_without_map(_member(archive, name)))
            if library.package == "lucide-static":
                (VENDOR / "icons.svg").write_text(_sprite(archive), encoding="utf-8")
    (VENDOR / "tabler.LICENSE.txt").write_text(TABLER_LICENCE, encoding="utf-8")
    (VENDOR / "manifest.json").write_text(json.dumps(_manifest(), indent=1) + "\n", encoding="utf-8")


def _packed(library: Library, place: Path) -> Path:
    asked = ["npm", "pack", "--silent", "--pack-destination", str(place), f"{library.package}@{library.version}"]
    told = subprocess.run(asked, check=True, capture_output=True, text=True)  # noqa: S603  our own words
    return place / told.stdout.split()[-1]


def _member(archive: Path, name: str) -> bytes:
    with tarfile.open(archive) as packed:
        file = packed.extractfile(f"package/{name}")
        if file is None:
            raise SystemExit(f"{archive.name}: has no {name}")
        return file.read()


def _without_map(content: bytes) -> bytes:
    """A file that points to no source map: it is not there."""
    return re.sub(rb"\n?(//|/\*)# sourceMappingURL=[^\n*]*( \*/)?\s*$", b"\n", content)


def _sprite(archive: Path) -> str:
    """The icons as symbols of one file."""
    symbols = []
    for name in ICONS.split():
        svg = _member(archive, f"icons/{name}.svg").decode()
        inside = re.sub(r"\s+", " ", svg[svg.index(">", svg.index("<svg")) + 1 : svg.rindex("</svg>")]).strip()
        symbols.append(f'<symbol id="{name}" viewBox="0 0 24 24">{inside}</symbol>')
    return '<svg xmlns="http://www.w3.org/2000/svg">\n' + "\n".join(symbols) + "\n</svg>\n"


def _manifest() -> list[dict[str, object]]:
    told = []
    for library in LIBRARIES:
        files = (*library.files.values(), *MADE_HERE.get(library.package, ()))
        digests = {name: hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() for name in files}
        about = {"package": library.package, "version": library.version, "licence": library.licence}
        told.append({**about, "files": digests})
    return told


if __name__ == "__main__":
    main()
