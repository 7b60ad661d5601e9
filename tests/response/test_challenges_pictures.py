"""Pictures of letters: the size that servers take, no two alike, and letters that stand out for people."""

import io
import subprocess
import sys

import pytest

from challenges_made_up import seeded
from gamewarden.response.challenges.image import LETTERS, Letters
from gamewarden.response.challenges.question import Game

pytest.importorskip("PIL", reason="Pillow is not installed: pip install 'gamewarden[challenge]'")

from PIL import Image, ImageFilter, ImageStat

from gamewarden.response.challenges.asking import SYSTEM
from gamewarden.response.challenges.drawing import draw, encoded


def opened(data):
    return Image.open(io.BytesIO(data))


def test_a_bmp_is_what_rathena_takes_to_the_byte():
    data = encoded(draw("ACE34", seeded(1)), "BMP")
    image = opened(data)

    assert len(data) == 59_454
    assert (image.size, image.mode) == ((220, 90), "RGB")
    assert data[:2] == b"BM"
    assert int.from_bytes(data[28:30], "little") == 24
    assert int.from_bytes(data[30:34], "little") == 0  # not packed


def test_a_png_shows_the_same_pixels_and_tells_nothing_else():
    picture = draw("ACE34", seeded(1))
    png = opened(encoded(picture, "PNG"))

    assert png.tobytes() == picture.pixels == opened(encoded(picture, "BMP")).tobytes()
    assert png.info == {}


def test_no_two_pictures_are_equal_even_of_one_text():
    pictures = [draw("ACE34", SYSTEM).pixels for _ in range(40)]

    assert len(set(pictures)) == 40
    first = Image.frombytes("RGB", (220, 90), pictures[0]).convert("L")
    for other in pictures[1:]:
        assert distance(first, Image.frombytes("RGB", (220, 90), other).convert("L")) > 20


def distance(one, other):
    """The mean square root difference of two pictures without their grain: no small table of hashes knows both."""
    from PIL import ImageChops

    blurred = [image.filter(ImageFilter.GaussianBlur(2)) for image in (one, other)]
    return ImageStat.Stat(ImageChops.difference(*blurred)).rms[0]


def test_the_same_chance_draws_the_same_picture():
    assert draw("ACE34", seeded(5)) == draw("ACE34", seeded(5))


@pytest.mark.parametrize("seed", range(25))
def test_letters_are_dark_on_light_paper_and_none_leaves_the_picture(seed):
    question = Letters().ask(Game(), seeded(seed))
    image = Image.frombytes("RGB", (220, 90), question.picture.pixels).convert("L")
    thick = image.filter(ImageFilter.MaxFilter(5)).point(lambda value: 255 * (value < 130))  # lines and speckles go
    left, top, right, bottom = thick.getbbox()

    assert ImageStat.Stat(image).median[0] > 170
    assert 0.02 < ImageStat.Stat(thick).mean[0] / 255 < 0.3
    assert left > 2
    assert top > 0
    assert right < 218
    assert bottom < 90
    assert right - left > 110


def test_no_letter_is_taken_for_another():
    assert not set(LETTERS) & set("IL17OQD0S5Z2B8GUVMW6X4")
    assert len(set(LETTERS)) == len(LETTERS)


def test_letters_come_from_the_system_s_own_randomness_by_default():
    texts = {Letters().ask(Game(), SYSTEM).answers for _ in range(30)}

    assert len(texts) == 30


def test_questions_without_a_picture_need_no_pillow_and_those_with_one_say_so():
    code = (
        "import sys; sys.modules['PIL'] = None\n"
        "from gamewarden.errors import InstallError\n"
        "from gamewarden.response.challenges import load, names\n"
        "from gamewarden.response.challenges.asking import SYSTEM\n"
        "from gamewarden.response.challenges.question import Game\n"
        "for name in names():\n"
        "    try:\n"
        "        load(name).ask(Game(), SYSTEM)\n"
        "    except InstallError as error:\n"
        "        print(name, error)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "image challenge image needs pillow; pip install 'gamewarden[challenge]'\n"
