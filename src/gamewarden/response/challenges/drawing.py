"""Drawing letters that people read and that no two pictures show alike; only this file needs Pillow."""

import math
from dataclasses import dataclass
from io import BytesIO
from random import Random
from typing import TYPE_CHECKING

from gamewarden.core.extras import need
from gamewarden.response.challenges.question import Picture

if TYPE_CHECKING:
    from PIL.Image import Image

SIZE = (220, 90)  # what rAthena's macro detector shows: a BMP of it has 59,454 bytes
_SCALE = 2  # drawn twice as large and made smaller, so that edges are smooth
_MARGIN = 10
_BEYOND = 8  # pixels around the picture that are drawn too, because bending takes some of them into it
_FONT = (54, 62)
_TURN = 18.0  # degrees to either side
_SHEAR = 0.15
_WAVES = (2.0, 4.5)  # pixels that the picture is bent by
_CELL = 10  # pixels of a piece that is bent as one
_LINES = (2, 3)
_SPECKLES = (140, 200)
_GRAIN = 18  # by how much a pixel is darker or lighter
_INK, _PAPER = (10, 95), (205, 250)  # how dark and how light a colour is


def draw(text: str, rng: Random) -> Picture:
    """A picture of a text.

    Raises:
        InstallError: Pillow is not installed.
    """
    need("challenge image", "PIL")
    from PIL import Image

    image = Image.new("RGB", [(side + 2 * _BEYOND) * _SCALE for side in SIZE], _colour(rng, _PAPER))
    _shade(image, rng)
    _place_letters(image, text, rng)
    _strike(image, rng)
    bent = image.transform(image.size, Image.Transform.MESH, _mesh(image.size, rng), Image.Resampling.BICUBIC)
    edge = _BEYOND * _SCALE
    inner = (edge, edge, bent.width - edge, bent.height - edge)
    small = bent.resize(SIZE, Image.Resampling.LANCZOS, inner)
    return Picture(*SIZE, _grained(small, rng).tobytes())


def encoded(picture: Picture, format_name: str) -> bytes:
    """A picture as a PNG or a BMP of 24 bits per pixel.

    Raises:
        InstallError: Pillow is not installed.
    """
    need("challenge image", "PIL")
    from PIL import Image

    file = BytesIO()
    Image.frombytes("RGB", (picture.width, picture.height), picture.pixels).save(file, format_name)
    return file.getvalue()


def _colour(rng: Random, limits: tuple[int, int]) -> tuple[int, int, int]:
    return (rng.randint(*limits), rng.randint(*limits), rng.randint(*limits))


def _shade(image: "Image", rng: Random) -> None:
    """Large soft spots behind the letters, so that no single brightness parts letters from paper."""
    from PIL import ImageDraw

    brush = ImageDraw.Draw(image)
    for _ in range(rng.randint(5, 8)):
        x, y, radius = rng.uniform(0, image.width), rng.uniform(0, image.height), rng.uniform(20, 70) * _SCALE
        brush.ellipse((x - radius, y - radius, x + radius, y + radius), fill=_colour(rng, (185, 250)))


def _place_letters(image: "Image", text: str, rng: Random) -> None:
    """The letters from left to right, each turned, leaning and shifted in its own way."""
    edge = (_BEYOND + _MARGIN) * _SCALE
    room = (image.width - 2 * edge) / len(text)
    for number, letter in enumerate(text):
        mask = _letter(letter, rng)
        middle = edge + room * (number + 0.5) + rng.uniform(-0.05, 0.05) * room
        x = min(max(middle - mask.width / 2, edge), image.width - edge - mask.width)
        y = (image.height - mask.height) / 2 + rng.uniform(-8, 8) * _SCALE
        image.paste(_colour(rng, _INK), (round(x), round(y)), mask)


def _letter(letter: str, rng: Random) -> "Image":
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(rng.randint(*_FONT) * _SCALE)
    left, top, right, bottom = (round(side) for side in font.getbbox(letter))
    margin = 16 * _SCALE
    mask = Image.new("L", (right - left + 2 * margin, bottom - top + 2 * margin), 0)
    bold = rng.choice((2, 3))
    ImageDraw.Draw(mask).text((margin - left, margin - top), letter, font=font, fill=255, stroke_width=bold)
    lean = rng.uniform(-_SHEAR, _SHEAR)
    leaning = (1, lean, -lean * mask.height / 2, 0, 1, 0)
    sheared = mask.transform(mask.size, Image.Transform.AFFINE, leaning, Image.Resampling.BICUBIC)
    turned = sheared.rotate(rng.uniform(-_TURN, _TURN), Image.Resampling.BICUBIC, expand=True)
    return turned.crop(turned.getbbox())


def _strike(image: "Image", rng: Random) -> None:
    """Lines through the letters and speckles between them, in colours of letters."""
    from PIL import ImageDraw

    brush = ImageDraw.Draw(image)
    for _ in range(rng.randint(*_LINES)):
        brush.line(_curve(image.size, rng), fill=_colour(rng, _INK), width=_SCALE, joint="curve")
    for _ in range(rng.randint(*_SPECKLES)):
        x, y, radius = rng.uniform(0, image.width), rng.uniform(0, image.height), rng.uniform(0.5, 1.3) * _SCALE
        ends = (0, 130) if rng.random() < 0.6 else (200, 255)  # noqa: PLR2004  more dark ones than light ones
        brush.ellipse((x - radius, y - radius, x + radius, y + radius), fill=_colour(rng, ends))


def _curve(size: tuple[int, int], rng: Random) -> list[tuple[float, float]]:
    width, height = size
    middle, swing = rng.uniform(0.25, 0.75) * height, rng.uniform(0.08, 0.25) * height
    slope, turns, phase = rng.uniform(-0.3, 0.3) * height, rng.uniform(0.6, 1.6), rng.uniform(0, math.tau)
    steps = (number / 60 for number in range(61))
    return [
        (share * width, middle + slope * (share - 0.5) + swing * math.sin(math.tau * turns * share + phase))
        for share in steps
    ]


@dataclass(frozen=True)
class _Wave:
    """How far the picture is bent at a place."""

    swing: float
    length: float
    phase: float

    def at(self, place: float) -> float:
        return self.swing * math.sin(math.tau * place / self.length + self.phase)


def _wave(rng: Random, size: int) -> _Wave:
    return _Wave(rng.uniform(*_WAVES) * _SCALE, rng.uniform(0.35, 0.8) * size, rng.uniform(0, math.tau))


def _mesh(size: tuple[int, int], rng: Random) -> list[tuple[tuple[int, int, int, int], tuple[float, ...]]]:
    """For each small piece of the picture, where it is taken from."""
    width, height = size
    step = _CELL * _SCALE
    along, across = _wave(rng, height), _wave(rng, width)

    def source(x: int, y: int) -> tuple[float, float]:
        return x + along.at(y), y + across.at(x)

    def piece(x: int, y: int) -> tuple[tuple[int, int, int, int], tuple[float, ...]]:
        right, bottom = min(x + step, width), min(y + step, height)
        corners = (source(x, y), source(x, bottom), source(right, bottom), source(right, y))
        return (x, y, right, bottom), tuple(value for corner in corners for value in corner)

    return [piece(x, y) for y in range(0, height, step) for x in range(0, width, step)]


def _grained(image: "Image", rng: Random) -> "Image":
    """Every pixel a little darker or lighter by chance: no two pictures are the same, and none can be looked up."""
    from PIL import Image, ImageChops

    values = rng.randbytes(image.width * image.height * 3)
    table = bytes(value * _GRAIN // 255 for value in range(256))
    grain = Image.frombytes("RGB", image.size, values.translate(table))
    return ImageChops.subtract(ImageChops.add(image, grain), Image.new("RGB", image.size, (_GRAIN // 2,) * 3))
